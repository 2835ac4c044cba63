package netlog

import (
	"cmp"
	"slices"

	"example.com/wiretest/netlog/internal/chromefile"
)

// log makes the Log of records that were kept. IDs are as they were written,
// unless some are missing: IDs have no gaps.
func (k *kept) log(c *chrome, found *chromefile.Found) *Log {
	log := new(Log)
	log.origin = &origin{
		client: found.Constants.Client, damage: append(damageOf(found.Damage), k.damage...), counts: c.counts,
		conns: make(map[*ConnectionRecord]*carrierFacts), speaks: make(map[string][]eventRef), quicRefs: make(map[string][]witness),
		alts: k.head.Alts, own: k.head.Background, issuers: append(slices.Clone(k.head.Issuers), c.opt.Issuers...),
	}
	for host, refs := range k.head.Speaks {
		for _, r := range refs {
			log.origin.speaks[host] = append(log.origin.speaks[host], eventRef{r.Event, r.Source})
		}
	}
	for host, refs := range k.head.QUIC {
		for _, r := range refs {
			log.origin.quicRefs[host] = append(log.origin.quicRefs[host], witness{eventRef{r.Event, r.Source}, r.Says})
		}
	}
	records := k.openAll(log)
	ids := k.requestAll(log, records)
	k.stallAll(log, records, ids)
	for _, n := range k.notes {
		log.notes = append(log.notes, Note{Time: n.Time.UTC(), Type: n.Type, Params: n.Params})
	}
	return log
}

func (k *kept) openAll(log *Log) map[int64]*ConnectionRecord {
	slices.SortStableFunc(k.connections, func(a, b *connectionKept) int { return cmp.Compare(a.ID, b.ID) })
	records := make(map[int64]*ConnectionRecord)
	for _, one := range k.connections {
		if records[one.ID] != nil {
			continue
		}
		c := Connection(one.connectionForm)
		c.Requests = max(c.Requests, -1)
		r := log.Open(c)
		r.statuses = one.Statuses
		records[one.ID] = r
		log.origin.conns[r] = &carrierFacts{
			source: one.Source, session: one.Session, selfSigned: one.SelfSigned, root: one.Root, check: one.Check, intercepted: one.Intercepted,
		}
	}
	return records
}

func (k *kept) requestAll(log *Log, records map[int64]*ConnectionRecord) map[int64]int64 {
	slices.SortStableFunc(k.requests, func(a, b *requestKept) int { return cmp.Compare(a.ID, b.ID) })
	ids := make(map[int64]int64)
	for _, one := range k.requests {
		if ids[one.ID] != 0 {
			continue
		}
		q := Request(one.requestForm)
		q.Wait = max(q.Wait, 0)
		q.FirstByte = later(q.FirstByte, q.Sent)
		q.End = later(q.End, q.FirstByte)
		r := log.Request(q)
		r.conn = records[one.Carrier]
		ids[one.ID] = r.q.ID
	}
	for _, r := range log.requests {
		r.q.Pair = ids[r.q.Pair]
	}
	return ids
}

func (k *kept) stallAll(log *Log, records map[int64]*ConnectionRecord, ids map[int64]int64) {
	slices.SortStableFunc(k.stalls, func(a, b *stallKept) int { return cmp.Compare(a.Index, b.Index) })
	for _, one := range k.stalls {
		s := Stall(one.stallForm)
		s.Duration, s.Request = max(s.Duration, 0), ids[s.Request]
		log.Stall(s)
		log.origin.stalls = append(log.origin.stalls, stallFacts{
			ref: eventRef{one.Event, one.Source}, times: one.Times, carrier: records[one.Carrier],
		})
	}
}
