package probeh3

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"example.com/wiretest/alpn"
)

// request asks for /, and reads the answer and the SETTINGS.
func request(ctx context.Context, conn *quic.Conn, s *alpn.Spoken, authority string) error {
	client := new(http3.Transport).NewClientConn(conn)
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+authority+"/", nil)
	if err != nil {
		return err
	}
	resp, err := client.RoundTrip(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	s.Status, s.Server, s.AltSvc = resp.StatusCode, resp.Header.Get("Server"), resp.Header.Values("Alt-Svc")
	select {
	case <-client.ReceivedSettings():
		s.Settings = settings(client.Settings())
	case <-conn.Context().Done():
	case <-ctx.Done():
	}
	return nil
}

// settings are what quic-go shows of them (RFC 9297, section 2.1.1; RFC 9220,
// section 3); it keeps those of QPACK and of field sections to itself.
func settings(from *http3.Settings) []alpn.Setting {
	all := []alpn.Setting{
		{Name: "H3_DATAGRAM", Value: number(from.EnableDatagrams)},
		{Name: "ENABLE_CONNECT_PROTOCOL", Value: number(from.EnableExtendedConnect)},
	}
	for _, id := range slices.Sorted(maps.Keys(from.Other)) {
		all = append(all, alpn.Setting{Name: settingName(id), Value: from.Other[id]})
	}
	return all
}

func number(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

// settingName knows those of RFC 9114, section 7.2.4.1, and RFC 9204, section 5.
func settingName(id uint64) string {
	switch id {
	case 0x01:
		return "QPACK_MAX_TABLE_CAPACITY"
	case 0x06:
		return "MAX_FIELD_SECTION_SIZE"
	case 0x07:
		return "QPACK_BLOCKED_STREAMS"
	}
	return "0x" + strconv.FormatUint(id, 16)
}
