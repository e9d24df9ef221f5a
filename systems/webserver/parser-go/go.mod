module bakeoff/webserver

go 1.26
