module bakeoff/tinygo

go 1.26

require github.com/tinygo-org/tinygo v0.41.1
