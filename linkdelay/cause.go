package linkdelay

// Cause is why something did not arrive.
type Cause string

// The causes of a drop.
const (
	DroppedByLoss     Cause = "loss"       // Path.Loss
	DroppedByBurst    Cause = "burst"      // Path.Burst
	DroppedByScript   Cause = "script"     // Path.Drop
	DroppedBySize     Cause = "size"       // Path.LossOver
	DroppedTooBig     Cause = "too big"    // Path.MaxDatagram
	DroppedQueueFull  Cause = "queue full" // Path.Queue
	DroppedByCut      Cause = "cut"        // Wire.Cut
	DroppedByBlock    Cause = "blocked"    // Wire.BlockUDP, Wire.BlockAfter
	DroppedForgotten  Cause = "forgotten"  // Wire.Forget
	DroppedByRebind   Cause = "rebound"    // sent to a port from before Wire.Rebind
	DroppedByAbort    Cause = "reset"      // Wire.Abort, or the connection was reset
	DroppedNoReceiver Cause = "nobody"     // nobody listened, or the receiver had closed
	DroppedUnread     Cause = "unread"     // the receiver's own queue was full
)

// cause is a Cause as an index.
type cause uint8

const (
	none cause = iota
	byLoss
	byBurst
	byScript
	bySize
	tooBig
	queueFull
	byCut
	byBlock
	forgotten
	byRebind
	byAbort
	noReceiver
	unread
	causes
)

func (c cause) public() Cause {
	return [...]Cause{
		"", DroppedByLoss, DroppedByBurst, DroppedByScript, DroppedBySize, DroppedTooBig, DroppedQueueFull,
		DroppedByCut, DroppedByBlock, DroppedForgotten, DroppedByRebind, DroppedByAbort, DroppedNoReceiver, DroppedUnread,
	}[c]
}
