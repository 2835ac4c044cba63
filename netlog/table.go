package netlog

// Connections is a list of connections in order of opening.
type Connections []Connection

// String is a table with one line per connection.
func (c Connections) String() string { return "" }
