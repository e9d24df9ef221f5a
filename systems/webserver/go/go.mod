module bakeoff/webserver/go

go 1.26

require bakeoff/webserver v0.0.0

replace bakeoff/webserver => ../parser-go
