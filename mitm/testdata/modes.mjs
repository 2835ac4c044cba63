// Asks for one URL through a proxy over HTTP/2: CONNECT, TLS within, and HTTP/2
// within that. Prints status, protocol and body, and the stream of CONNECT.
import http2 from 'node:http2'
import tls from 'node:tls'
import fs from 'node:fs'

const [proxyURL, authority, credentials, ...urls] = process.argv.slice(2)
const ca = fs.readFileSync(authority)

const proxy = http2.connect(proxyURL, { ca })
const seen = []
for (const url of urls) {
  const target = new URL(url)
  const headers = { ':method': 'CONNECT', ':authority': target.host }
  if (credentials) headers['proxy-authorization'] = 'Basic ' + Buffer.from(credentials).toString('base64')
  const tunnel = proxy.request(headers)
  const status = await new Promise((answered, failed) => {
    tunnel.on('response', (h) => answered(h[':status'])).on('error', failed)
  })
  if (status !== 200) {
    seen.push({ connect: status, stream: tunnel.id })
    tunnel.close()
    continue
  }
  const socket = tls.connect({ socket: tunnel, ca, servername: 'localhost', ALPNProtocols: ['h2'] })
  await new Promise((secured, failed) => socket.once('secureConnect', secured).once('error', failed))
  const session = http2.connect(url, { createConnection: () => socket })
  const request = session.request({ ':path': '/' })
  const answer = await new Promise((answered, failed) => {
    const one = { connect: status, stream: tunnel.id, protocol: socket.alpnProtocol, length: 0 }
    request.on('response', (h) => { one.status = h[':status'] })
    request.on('data', (chunk) => { one.length += chunk.length })
    request.on('end', () => answered(one)).on('error', failed)
  })
  seen.push(answer)
  session.close()
}
console.log(JSON.stringify(seen))
proxy.close()
