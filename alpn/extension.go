package alpn

import "strconv"

// Extensions whose content is read (IANA TLS ExtensionType).
const (
	extServerName          = 0
	extSupportedGroups     = 10
	extPointFormats        = 11
	extSignatureAlgorithms = 13
	extALPN                = 16
	extSupportedVersions   = 43
	extPSKModes            = 45
	extKeyShare            = 51
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
	case 18:
		return "signed_certificate_timestamp"
	case 21:
		return "padding"
	case 23:
		return "extended_master_secret"
	case 27:
		return "compress_certificate"
	case 35:
		return "session_ticket"
	}
	return extensionName13(id)
}

// extensionName13 knows those that came with TLS 1.3.
func extensionName13(id uint16) string {
	switch id {
	case 41:
		return "pre_shared_key"
	case 42:
		return "early_data"
	case extSupportedVersions:
		return "supported_versions"
	case 44:
		return "cookie"
	case extPSKModes:
		return "psk_key_exchange_modes"
	case 50:
		return "signature_algorithms_cert"
	case extKeyShare:
		return "key_share"
	case 57:
		return "quic_transport_parameters"
	case 65037:
		return "encrypted_client_hello"
	case 65281:
		return "renegotiation_info"
	}
	return "extension " + strconv.Itoa(int(id))
}
