// A client and an origin by Node, with the proxy between them. Prints what each
// saw of every stream: id, status, bytes of the bodies, and the code by which
// the stream was reset.
import http from 'node:http'
import http2 from 'node:http2'
import tls from 'node:tls'
import fs from 'node:fs'

const [proxyPort, certificate, key, authority] = process.argv.slice(2)
const seen = { client: [], origin: [] }

const origin = http2.createSecureServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
origin.on('stream', (stream, headers) => {
  const entry = { id: stream.id, path: headers[':path'], up: 0, down: 0, code: 0 }
  seen.origin.push(entry)
  stream.on('error', () => {})
  stream.on('close', () => { entry.code = stream.rstCode })
  stream.on('data', (chunk) => { entry.up += chunk.length })
  const answer = (body) => {
    entry.down = body.length
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'sent' }))
    stream.end(body)
  }
  switch (headers[':path'].split('/')[1]) {
    case 'hints':
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' })
      answer('hinted')
      break
    case 'echo':
      stream.on('end', () => answer('x'.repeat(2 * entry.up)))
      break
    case 'reset':
      stream.close(Number(headers[':path'].split('/')[2]))
      break
    case 'wait':
      break
    default:
      answer('hello')
  }
})
await new Promise((listening) => origin.listen(0, '127.0.0.1', listening))
const target = `127.0.0.1:${origin.address().port}`

const tunnel = await new Promise((connected, failed) => {
  http.request({ port: proxyPort, method: 'CONNECT', path: target })
    .on('connect', (_, socket) => connected(socket)).on('error', failed).end()
})
const socket = tls.connect({ socket: tunnel, ca: fs.readFileSync(authority), servername: 'localhost', ALPNProtocols: ['h2'] })
await new Promise((secured) => socket.once('secureConnect', secured))
const session = http2.connect(`https://${target}`, { createConnection: () => socket })

const ask = (path, { body = '', cancel } = {}) => new Promise((done) => {
  const stream = session.request({ ':method': body ? 'POST' : 'GET', ':path': path })
  const entry = { id: 0, path, status: 0, up: body.length, down: 0, code: 0, hints: 0, trailer: '' }
  seen.client.push(entry)
  stream.on('ready', () => { entry.id = stream.id })
  entry.id = stream.id ?? 0 // on a session that is connected it is ready at once
  stream.on('headers', () => { entry.hints++ })
  stream.on('response', (headers) => { entry.status = headers[':status'] })
  stream.on('trailers', (headers) => { entry.trailer = headers['x-trailer'] })
  stream.on('data', (chunk) => { entry.down += chunk.length })
  stream.on('error', () => {})
  stream.on('close', () => { entry.code = stream.rstCode; done() })
  if (body) stream.end(body) // a GET has ended already
  if (cancel !== undefined) {
    const poll = setInterval(() => { // once the origin has it
      if (!seen.origin.some((one) => one.path === path)) return
      clearInterval(poll)
      stream.close(cancel)
    }, 5)
  }
})

await ask('/one')
await ask('/hints')
await ask('/echo/large', { body: 'b'.repeat(100_000) })
await Promise.all([ask('/two'), ask('/echo/small', { body: 'small' })])
for (const code of [1, 2, 7, 8, 11, 13]) await ask(`/reset/${code}`)
for (const code of [2, 5, 8, 11]) await ask(`/wait/${code}`, { cancel: code })
while (seen.origin.some((one) => one.path.startsWith('/wait') && !one.code)) await new Promise((tick) => setTimeout(tick, 5))
console.log(JSON.stringify(seen))
process.exit(0)
