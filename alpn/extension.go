package alpn

import (
	"strconv"
)

// Extensions whose content is read (IANA TLS ExtensionType).
const (
	extServerName          = 0
	extSupportedGroups     = 10
	extPointFormats        = 11
	extSignatureAlgorithms = 13
	extALPN                = 16
	extCertCompression     = 27
	extSessionTicket       = 35
	extPreSharedKey        = 41
	extEarlyData           = 42
	extSupportedVersions   = 43
	extPSKModes            = 45
	extKeyShare            = 51
	extQUICParameters      = 57
	extECH                 = 65037 // RFC 9849
)

// extensionName is for messages; what browsers and libraries send has a name,
// so that a hello is read without making any.
func extensionName(id uint16) string {
	switch id {
	case extServerName:
		return "server_name"
	case 5:
		return "status_request"
	case extSupportedGroups:
		return "supported_groups"
	case extPointFormats:
		return "ec_point_formats"
	case extSignatureAlgorithms:
		return "signature_algorithms"
	case extALPN:
		return "application_layer_protocol_negotiation"
	case 17:
		return "status_request_v2"
	case 18:
		return "signed_certificate_timestamp"
	case 21:
		return "padding"
	case 22:
		return "encrypt_then_mac"
	case 23:
		return "extended_master_secret"
	case extCertCompression:
		return "compress_certificate"
	case 28:
		return "record_size_limit"
	case 34:
		return "delegated_credential"
	case extSessionTicket:
		return "session_ticket"
	}
	return extensionName13(id)
}

// extensionName13 knows those that came with TLS 1.3.
func extensionName13(id uint16) string {
	switch id {
	case extPreSharedKey:
		return "pre_shared_key"
	case extEarlyData:
		return "early_data"
	case extSupportedVersions:
		return "supported_versions"
	case 44:
		return "cookie"
	case extPSKModes:
		return "psk_key_exchange_modes"
	case 49:
		return "post_handshake_auth"
	case 50:
		return "signature_algorithms_cert"
	case extKeyShare:
		return "key_share"
	case extQUICParameters:
		return "quic_transport_parameters"
	case extECH:
		return "encrypted_client_hello"
	case 13172:
		return "next_protocol_negotiation" // never registered, still sent
	case 17513, 17613:
		return "application_settings" // draft-vvv-tls-alps, as browsers send it
	case 65281:
		return "renegotiation_info"
	}
	if IsGREASE(id) {
		return greaseName(id)
	}
	return "extension " + strconv.Itoa(int(id))
}
