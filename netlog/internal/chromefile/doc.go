// Package chromefile reads the files that Chromium's network stack writes as
// its NetLog: the bytes, not what they mean.
//
//	found, err := chromefile.Read(file, nil, func(e *chromefile.Event) {
//		if e.Name == chromefile.TCPConnect && e.Phase == chromefile.End {
//			if _, failed := e.Params.Int("net_error"); !failed {
//				fmt.Println(e.Time, e.Source.ID, e.Params.Str("remote_address"))
//			}
//		}
//	})
//
// A file is a stream of events below a table of constants that gives their
// numbers names. The brackets around both are dispensable: Read goes by keys
// and by what an event looks like, never by nesting, so that a file cut off,
// torn or joined from parts gives every whole event that is in it.
//
// The splitter is the package's own, because libraries stop at the first byte
// that is not JSON; the meaning of escapes is left to encoding/json. Events are
// looked at in place, one at a time: no more of the file than the largest event
// is in memory, unless the constants come last.
package chromefile
