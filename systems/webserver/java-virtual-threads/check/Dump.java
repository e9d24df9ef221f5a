import static java.nio.charset.StandardCharsets.UTF_8;

import bakeoff.ParseException;
import bakeoff.Parser;
import bakeoff.Request;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Reads inputs from standard input, each after its length (four bytes, the lowest first), and prints what the parser
 * makes of each, one JSON object a line. parser-vectors/compare.py sets the languages' programs against each other. An
 * argument N feeds the inputs in pieces of N bytes.
 */
public final class Dump {
    private Dump() {}

    public static void main(String[] arguments) throws IOException {
        int size = arguments.length > 0 ? Integer.parseInt(arguments[0]) : Integer.MAX_VALUE;
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in));
        try (PrintStream output = new PrintStream(System.out, false, UTF_8)) {
            while (true) {
                byte[] data;
                try {
                    data = new byte[Integer.reverseBytes(input.readInt())];
                } catch (EOFException end) {
                    return;
                }
                input.readFully(data);
                output.print(observe(data, size) + "\n");
            }
        }
    }

    private static String observe(byte[] data, int size) {
        Parser parser = new Parser();
        List<String> requests = new ArrayList<>();
        String error = null;
        String end = null;
        try {
            int at = 0;
            do {
                int count = Math.min(size, data.length - at);
                parser.append(data, at, count);
                at += count;
                for (Request request = parser.nextRequest(); request != null; request = parser.nextRequest()) {
                    requests.add(describe(request));
                }
            } while (at < data.length);
            end = parser.finish();
        } catch (ParseException failure) {
            error = failure.getMessage();
        }
        return "{\"requests\":[%s],\"error\":%s,\"end\":%s}"
                .formatted(String.join(",", requests), quote(error), quote(end));
    }

    private static String describe(Request request) {
        String headers = request.headers().stream()
                .map(header -> "[" + quote(header.name()) + "," + quote(header.value()) + "]")
                .collect(Collectors.joining(","));
        StringBuilder body = new StringBuilder();
        for (byte value : request.body()) {
            body.append((char) (value & 0xff));
        }
        return "{\"method\":%s,\"path\":%s,\"query\":%s,\"version\":\"%s\",\"keep_alive\":%s,\"headers\":[%s],\"body\":%s}"
                .formatted(
                        quote(request.method()),
                        quote(request.path()),
                        quote(request.query()),
                        request.oldVersion() ? "1.0" : "1.1",
                        request.keepAlive(),
                        headers,
                        quote(body.toString()));
    }

    private static String quote(String text) {
        if (text == null) {
            return "null";
        }
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            quoted.append(c < ' ' || c == '"' || c == '\\' || c > '~' ? "\\u%04x".formatted((int) c) : c);
        }
        return quoted.append('"').toString();
    }
}
