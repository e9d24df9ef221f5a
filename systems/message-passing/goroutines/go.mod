module bakeoff.example/message-passing/goroutines

go 1.26
