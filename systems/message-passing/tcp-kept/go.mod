module bakeoff.example/message-passing/tcp-kept

go 1.26

require bakeoff.example/message-passing/common v0.0.0

replace bakeoff.example/message-passing/common => ../common
