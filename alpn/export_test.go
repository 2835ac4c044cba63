package alpn

// InitialKeys are the client's, for tests that seal packets.
func InitialKeys(version uint32, connectionID []byte) (key, iv, hp []byte) {
	k := clientInitialKeys(version, connectionID)
	return k.key, k.iv, k.hp
}
