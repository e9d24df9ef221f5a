module bakeoff.example/message-passing/common

go 1.26
