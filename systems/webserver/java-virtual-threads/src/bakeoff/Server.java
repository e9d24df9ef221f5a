package bakeoff;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A virtual thread for each connection, on plain blocking sockets. */
public final class Server {
    private static final int BACKLOG = 4096;
    private static final int READ_SIZE = 2048;

    private Server() {}

    /** Serves for ever. Arguments: --host HOST --port PORT. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        marker("startup");
        if (arguments.length != 4 || !arguments[0].equals("--host") || !arguments[2].equals("--port")) {
            System.err.println("usage: Server --host HOST --port PORT");
            System.exit(2);
        }
        InetAddress host = InetAddress.getByName(arguments[1]);
        ExecutorService threads = virtualThreads();
        try (ServerSocket listener = new ServerSocket(Integer.parseInt(arguments[3]), BACKLOG, host)) {
            marker("ready");
            while (true) {
                try {
                    Socket connection = listener.accept();
                    threads.execute(() -> serve(connection));
                } catch (IOException error) {
                    System.err.println("accept: " + error.getMessage());
                    Thread.sleep(10);
                }
            }
        }
    }

    /** By name, because the compiler may be older than virtual threads; the Java that runs this is not. */
    private static ExecutorService virtualThreads() {
        try {
            return (ExecutorService)
                    Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("this needs Java 21 or newer", error);
        }
    }

    /** Serves one connection to its end. What fails is the connection, and then there is nobody to tell. */
    private static void serve(Socket connection) {
        try (connection) {
            connection.setTcpNoDelay(true);
            converse(connection.getInputStream(), connection.getOutputStream());
        } catch (IOException | InterruptedException error) {
            // The connection is over.
        }
    }

    private static void converse(InputStream in, OutputStream out) throws IOException, InterruptedException {
        Parser parser = new Parser();
        byte[] input = new byte[READ_SIZE];
        while (true) {
            Response response;
            boolean close = true;
            try {
                Request request = parser.nextRequest();
                if (request == null) {
                    int count = in.read(input);
                    if (count < 0) {
                        return;
                    }
                    parser.append(input, 0, count);
                    continue;
                }
                response = Endpoints.run(request);
                close = !request.keepAlive();
            } catch (ParseException error) {
                response = new Response(400, error.getMessage());
            }
            out.write(response.serialise(close));
            if (close) {
                return;
            }
        }
    }

    private static void marker(String name) {
        System.out.println("@bakeoff " + name);
        System.out.flush();
    }
}
