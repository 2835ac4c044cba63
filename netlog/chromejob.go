package netlog

import "example.com/wiretest/netlog/internal/chromefile"

// node is a job, a controller or a pool's manager: something between a request
// and what carries it. Ids of 0 are unknown.
type node struct {
	request    int64 // that it works for
	controller int64 // that started it
	manager    int64 // of the HttpStreamPool
	user       int64 // job that took what this connect job made
	carrier    int64 // socket that it found
	session    int64 // HTTP/2 session that it found
	quic       int64 // QUIC session that it found
	quicJob    int64
	host       string // host:port that it is for
	proxy      string // of a controller: its proxies
	reason     string // why it gave up
	local      string // addresses, of the job that makes a QUIC session
	remote     string
	backup     bool // a second attempt because the first was slow
	alternate  bool // it tries what Alt-Svc named
}

func (c *chrome) node(id int64) *node {
	n := c.nodes[id]
	if n == nil {
		n = new(node)
		c.nodes[id] = n
	}
	return n
}

// peek is the node, or an empty one where nothing is known of it.
func (c *chrome) peek(id int64) *node {
	if n := c.nodes[id]; n != nil {
		return n
	}
	return new(node)
}

// onJobs follows what leads from a request to its connection.
func (c *chrome) onJobs() {
	from := func(name string, set func(n *node, to int64)) {
		c.on(name, func(e *event) {
			if to, ok := e.Params.Dependency(); ok {
				set(c.node(e.Source.ID), to)
			}
		})
	}
	from(chromefile.PoolBoundToSocket, func(n *node, to int64) { n.carrier = to })
	from(chromefile.PoolManagerAlive, func(n *node, to int64) { n.controller = to }) // its group
	for _, name := range []string{chromefile.BoundToQUICPoolJob, chromefile.BoundToQUICFactoryJob} {
		from(name, func(n *node, to int64) {
			n.quicJob = to
			job := c.node(to)
			job.alternate = job.alternate || n.alternate
		})
	}
	from(chromefile.UseExistingQUIC, func(n *node, to int64) { n.quic = to })

	to := func(name string, set func(n *node, from int64)) {
		c.on(name, func(e *event) {
			if to, ok := e.Params.Dependency(); ok {
				set(c.node(to), e.Source.ID)
			}
		})
	}
	to(chromefile.PoolBoundToConnectJob, func(n *node, from int64) { n.user = from })
	to(chromefile.StartedJob, func(n *node, from int64) { n.controller = from })
	to(chromefile.PoolControllerJob, func(n *node, from int64) { n.controller = from })
	to(chromefile.AttachJobToQUIC, func(n *node, from int64) { n.quic = from })

	c.on(chromefile.QUICPoolJobResult, c.quicMade)
	c.on(chromefile.QUICSessionCreated, c.quicMade)
	c.on(chromefile.StreamJob, c.streamJob)
	c.on(chromefile.JobController, c.controller)
	c.on(chromefile.ProxyResolved, c.proxyResolved)
	c.on(chromefile.PoolConnectJobCreated, c.connectJob)
	c.on(chromefile.PoolGroupAlive, c.poolGroup)
	c.on(chromefile.TLSAttemptAlive, c.tlsAttempt)
	for _, name := range []string{chromefile.FoundExistingSession, chromefile.FoundExistingByIP, chromefile.ImportedFromSocket} {
		c.on(name, c.foundSession)
	}
}

func (c *chrome) streamJob(e *event) {
	if e.Phase != chromefile.Begin {
		return
	}
	n := c.node(e.Source.ID)
	if controller, ok := e.Params.Dependency(); ok {
		n.controller = controller
	}
	n.alternate = e.Params.Str("type") == "alternative" || e.Params.Has("alternative_service") // the latter until 2021
	n.host = authorityOf(firstOf(e.Params, "logical_destination", "original_url", "destination", "url"))
}

func (c *chrome) quicMade(e *event) {
	id, ok := e.Params.Dependency()
	if !ok {
		return
	}
	c.node(e.Source.ID).quic = id
	if k := c.carriers[id]; k != nil {
		k.maker = e.Source.ID
	}
}

func firstOf(p chromefile.Params, keys ...string) string {
	for _, key := range keys {
		if s := p.Str(key); s != "" {
			return s
		}
	}
	return ""
}

func (c *chrome) controller(e *event) {
	if host := authorityOf(e.Params.Str("url")); host != "" {
		c.node(e.Source.ID).host = host
	}
}

func (c *chrome) proxyResolved(e *event) {
	c.node(e.Source.ID).proxy = proxiesOf(firstOf(e.Params, "proxy_chain", "proxy_server"))
}

func (c *chrome) connectJob(e *event) {
	n := c.node(e.Source.ID)
	n.backup = e.Params.Bool("backup_job")
	n.host = hostOfGroup(firstOf(e.Params, "group_id", "group_name"))
}

func (c *chrome) poolGroup(e *event) {
	if host := authorityOf(e.Params.Object("stream_key").Str("destination")); host != "" {
		c.node(e.Source.ID).host = host
	}
}

func (c *chrome) tlsAttempt(e *event) {
	n := c.node(e.Source.ID)
	if host := e.Params.Str("host_port"); host != "" {
		n.host = authorityOf("https://" + host)
	}
	if reason := e.Params.Str("cancel_reason"); reason != "" {
		n.reason = reason
	}
}

// foundSession is said by a job, by a request itself, or by a manager for all of
// its jobs.
func (c *chrome) foundSession(e *event) {
	id, ok := e.Params.Dependency()
	if !ok {
		return
	}
	if r := c.request(e); r != nil {
		r.current(e.Time, c).session = id
		return
	}
	c.node(e.Source.ID).session = id
}
