package bakeoff;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

/**
 * A response. Its headers are the same in all our servers: Content-Length, Content-Type with a body, Connection: close
 * when the connection ends, and Allow with 405.
 */
record Response(int status, String body) {
    static Response empty(int status) {
        return new Response(status, "");
    }

    /** The bytes of the response; close says that the connection ends after it. */
    byte[] serialise(boolean close) {
        StringBuilder text = new StringBuilder(128);
        text.append(statusLine()).append("Content-Length: ").append(body.length()).append("\r\n");
        if (!body.isEmpty()) {
            text.append("Content-Type: text/plain; charset=utf-8\r\n");
        }
        if (status == 405) {
            text.append("Allow: GET\r\n");
        }
        if (close) {
            text.append("Connection: close\r\n");
        }
        return text.append("\r\n").append(body).toString().getBytes(ISO_8859_1);
    }

    private String statusLine() {
        return switch (status) {
            case 200 -> "HTTP/1.1 200 OK\r\n";
            case 400 -> "HTTP/1.1 400 Bad Request\r\n";
            case 404 -> "HTTP/1.1 404 Not Found\r\n";
            case 405 -> "HTTP/1.1 405 Method Not Allowed\r\n";
            default -> "HTTP/1.1 500 Internal Server Error\r\n";
        };
    }
}
