module example.com/wiretest

go 1.26.0
