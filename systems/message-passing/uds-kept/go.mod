module bakeoff.example/message-passing/uds-kept

go 1.26

require bakeoff.example/message-passing/common v0.0.0

replace bakeoff.example/message-passing/common => ../common
