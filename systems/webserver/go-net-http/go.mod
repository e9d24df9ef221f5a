module bakeoff/webserver/go-net-http

go 1.26

require bakeoff/webserver v0.0.0

replace bakeoff/webserver => ../parser-go
