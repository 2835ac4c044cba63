package chromefile

// Names of the events that say something about connections and requests, as of
// Chromium 156; where an older name is still met, both are here.
const (
	Cancelled = "CANCELLED"

	// of URL_REQUEST, and of the jobs and pools that find it a connection
	RequestAlive          = "REQUEST_ALIVE"
	StartJob              = "URL_REQUEST_START_JOB"
	JobBytesRead          = "URL_REQUEST_JOB_BYTES_READ"
	JobFilteredBytesRead  = "URL_REQUEST_JOB_FILTERED_BYTES_READ"
	StreamRequest         = "HTTP_STREAM_REQUEST"
	BoundToJob            = "HTTP_STREAM_REQUEST_BOUND_TO_JOB"
	BoundToQUICSession    = "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION"
	SendHeadersH1         = "HTTP_TRANSACTION_SEND_REQUEST_HEADERS"
	SendHeadersH2         = "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS"
	SendHeadersQUIC       = "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS"
	ReadResponseHeaders   = "HTTP_TRANSACTION_READ_RESPONSE_HEADERS"
	ReadBody              = "HTTP_TRANSACTION_READ_BODY"
	LocalNetworkAccess    = "LOCAL_NETWORK_ACCESS_CHECK"
	StreamUpdateRecv      = "HTTP2_STREAM_UPDATE_RECV_WINDOW"
	ControllerBound       = "HTTP_STREAM_JOB_CONTROLLER_BOUND"
	ManagerJobBound       = "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND"
	FoundExistingSession  = "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION"
	FoundExistingByIP     = "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL"
	ImportedFromSocket    = "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET"
	UseExistingQUIC       = "QUIC_SESSION_POOL_USE_EXISTING_SESSION"
	AttachJobToQUIC       = "QUIC_SESSION_POOL_ATTACH_HTTP_STREAM_JOB_TO_EXISTING_SESSION"
	JobBoundToRequest     = "HTTP_STREAM_JOB_BOUND_TO_REQUEST"
	StreamJob             = "HTTP_STREAM_JOB"
	StreamRequestProto    = "HTTP_STREAM_REQUEST_PROTO"
	StartedJob            = "HTTP_STREAM_REQUEST_STARTED_JOB"
	JobController         = "HTTP_STREAM_JOB_CONTROLLER"
	ProxyResolved         = "HTTP_STREAM_JOB_CONTROLLER_PROXY_SERVER_RESOLVED"
	AltSvcFound           = "HTTP_STREAM_JOB_CONTROLLER_ALT_SVC_FOUND"
	PoolControllerJob     = "HTTP_STREAM_POOL_JOB_CONTROLLER_JOB_BOUND"
	PoolJobAlive          = "HTTP_STREAM_POOL_JOB_ALIVE"
	PoolGroupAlive        = "HTTP_STREAM_POOL_GROUP_ALIVE"
	PoolHandleCreated     = "HTTP_STREAM_POOL_GROUP_HANDLE_CREATED"
	PoolManagerAlive      = "HTTP_STREAM_POOL_ATTEMPT_MANAGER_ALIVE"
	PoolCanAttempt        = "HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP"
	BoundToQUICPoolJob    = "BOUND_TO_QUIC_SESSION_POOL_JOB"
	BoundToQUICFactoryJob = "HTTP_STREAM_JOB_BOUND_TO_QUIC_STREAM_FACTORY_JOB"

	// of connect jobs, and of the socket pool
	SocketPool            = "SOCKET_POOL"
	PoolStalledGroup      = "SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP"
	PoolStalled           = "SOCKET_POOL_STALLED_MAX_SOCKETS"
	PoolBoundToSocket     = "SOCKET_POOL_BOUND_TO_SOCKET"
	PoolBoundToConnectJob = "SOCKET_POOL_BOUND_TO_CONNECT_JOB"
	PoolConnectJobCreated = "SOCKET_POOL_CONNECT_JOB_CREATED"
	PoolClosingSocket     = "SOCKET_POOL_CLOSING_SOCKET"
	ConnectJobSetSocket   = "CONNECT_JOB_SET_SOCKET"
	TLSAttemptAlive       = "TLS_STREAM_ATTEMPT_ALIVE"

	// of SOCKET and PROXY_CLIENT_SOCKET
	SocketAlive         = "SOCKET_ALIVE"
	SocketInUse         = "SOCKET_IN_USE"
	SocketBytesSent     = "SOCKET_BYTES_SENT"
	SocketBytesReceived = "SOCKET_BYTES_RECEIVED"
	SocketReadError     = "SOCKET_READ_ERROR"
	SocketWriteError    = "SOCKET_WRITE_ERROR"
	TCPConnect          = "TCP_CONNECT"
	SSLConnect          = "SSL_CONNECT"
	SSLMessageSent      = "SSL_HANDSHAKE_MESSAGE_SENT"
	SSLCertificates     = "SSL_CERTIFICATES_RECEIVED"
	SSLHandshakeError   = "SSL_HANDSHAKE_ERROR"
	SSLReadError        = "SSL_READ_ERROR"
	SSLWriteError       = "SSL_WRITE_ERROR"
	SSLBytesSent        = "SSL_SOCKET_BYTES_SENT"
	SSLBytesReceived    = "SSL_SOCKET_BYTES_RECEIVED"
	SendTunnelHeaders   = "HTTP_TRANSACTION_SEND_TUNNEL_HEADERS"
	ReadTunnelHeaders   = "HTTP_TRANSACTION_READ_TUNNEL_RESPONSE_HEADERS"
	ProxyClientSession  = "HTTP2_PROXY_CLIENT_SESSION"

	// of certificates
	VerifierBoundToJob = "CERT_VERIFIER_REQUEST_BOUND_TO_JOB"
	VerifierJob        = "CERT_VERIFIER_JOB"

	// of QUIC_SESSION, of the jobs that make it, and of UDP sockets
	QUICVerified       = "QUIC_SESSION_CERTIFICATE_VERIFIED"
	QUICCryptoReceived = "QUIC_SESSION_CRYPTO_FRAME_RECEIVED"
	QUICHandshakeDone  = "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE"
	QUICConfirmed      = "QUIC_SESSION_HANDSHAKE_DONE_FRAME_RECEIVED"
	QUICVersion        = "QUIC_SESSION_VERSION_NEGOTIATED"
	QUICClosed         = "QUIC_SESSION_CLOSED"
	QUICCloseOnError   = "QUIC_SESSION_CLOSE_ON_ERROR"
	QUICGoAway         = "QUIC_SESSION_GOAWAY_FRAME_RECEIVED"
	HTTP3GoAway        = "HTTP3_GOAWAY_RECEIVED"
	QUICSession        = "QUIC_SESSION"
	QUICPoolJob        = "QUIC_SESSION_POOL_JOB"
	QUICPoolJobConnect = "QUIC_SESSION_POOL_JOB_CONNECT"
	QUICPoolJobResult  = "QUIC_SESSION_POOL_JOB_RESULT"
	QUICSessionCreated = "QUIC_SESSION_CREATED"
	QUICFactoryJob     = "QUIC_STREAM_FACTORY_JOB"
	QUICFactoryConnect = "QUIC_STREAM_FACTORY_JOB_CONNECT"
	UDPConnect         = "UDP_CONNECT"
	UDPLocalAddress    = "UDP_LOCAL_ADDRESS"

	// of HTTP2_SESSION
	H2Session     = "HTTP2_SESSION"
	H2Initialized = "HTTP2_SESSION_INITIALIZED"
	H2RecvSetting = "HTTP2_SESSION_RECV_SETTING"
	H2SendHeaders = "HTTP2_SESSION_SEND_HEADERS"
	H2RecvRST     = "HTTP2_SESSION_RECV_RST_STREAM"
	H2RecvGoAway  = "HTTP2_SESSION_RECV_GOAWAY"
	H2Stalled     = "HTTP2_SESSION_STALLED_MAX_STREAMS"
	H2Close       = "HTTP2_SESSION_CLOSE"

	// of HTTP_SERVER_PROPERTIES
	ServerPrefs  = "HTTP_SERVER_PROPERTIES_UPDATE_PREFS"
	ServerLoaded = "HTTP_SERVER_PROPERTIES_UPDATE_CACHE"
)

// Names of source types.
const (
	SourceURLRequest    = "URL_REQUEST"
	SourceBidirectional = "BIDIRECTIONAL_STREAM"
	SourceSocket        = "SOCKET"
	SourceProxySocket   = "PROXY_CLIENT_SOCKET"
	SourceUDPSocket     = "UDP_SOCKET"
	SourceUDPClient     = "UDP_CLIENT_SOCKET"
)
