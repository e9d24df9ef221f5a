//! One connection: what was read, what is to be written, and what it waits for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use webserver_parser::endpoints::{self, Action};
use webserver_parser::serving::READ_SIZE;
use webserver_parser::{Parser, Response};

/// What a connection wants after it was driven as far as it goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Want {
    /// Bytes from the client, or room for bytes to it: the set reports it.
    Io,
    /// To be woken after this time, with [`Connection::answer`].
    Sleep(Duration),
    /// A Fibonacci number, with [`Connection::answer`].
    Fibonacci(u64),
    /// To be closed.
    End,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    parser: Parser,
    output: Vec<u8>,
    written: usize,
    /// A request's answer is being waited for; requests after it wait too.
    busy: bool,
    /// Does the connection end with the answer to the present request?
    close: bool,
}

impl Connection {
    /// Takes an accepted stream, which must not block.
    pub fn new(stream: TcpStream) -> Self {
        Connection {
            stream,
            parser: Parser::new(),
            output: Vec::new(),
            written: 0,
            busy: false,
            close: false,
        }
    }

    /// The stream, to be watched.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Gives the answer that was waited for, and goes on.
    pub fn answer(&mut self, response: &Response) -> Want {
        self.busy = false;
        response.serialise(self.close, &mut self.output);
        self.drive()
    }

    /// Something has changed: writes, reads and answers as far as it goes.
    pub fn drive(&mut self) -> Want {
        // What changes while a request is being answered is looked at after it.
        if self.busy {
            return Want::Io;
        }
        self.go_on().unwrap_or(Want::End)
    }

    fn go_on(&mut self) -> io::Result<Want> {
        loop {
            if !self.flush()? {
                return Ok(Want::Io);
            }
            if self.close {
                return Ok(Want::End);
            }
            let action = match self.parser.next_request() {
                Ok(Some(request)) => {
                    self.close = !request.keep_alive;
                    endpoints::route(&request)
                }
                Ok(None) => match self.read()? {
                    Some(0) => return Ok(Want::End),
                    Some(_) => continue,
                    None => return Ok(Want::Io),
                },
                Err(error) => {
                    self.close = true;
                    Action::Answer(endpoints::malformed(error))
                }
            };
            self.busy = true;
            match action {
                Action::Answer(response) => response.serialise(self.close, &mut self.output),
                Action::Sleep(time) => return Ok(Want::Sleep(time)),
                Action::Fibonacci(number) => return Ok(Want::Fibonacci(number)),
            }
            self.busy = false;
        }
    }

    /// Writes what is left of the output. False if the socket is full.
    fn flush(&mut self) -> io::Result<bool> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.written = 0;
        Ok(true)
    }

    /// Reads once. None if there is nothing, 0 at the end.
    fn read(&mut self) -> io::Result<Option<usize>> {
        let mut input = [0; READ_SIZE];
        loop {
            match self.stream.read(&mut input) {
                Ok(count) => {
                    self.parser.append(&input[..count]);
                    return Ok(Some(count));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
