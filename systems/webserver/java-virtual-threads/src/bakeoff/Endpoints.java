package bakeoff;

/** What the server answers. */
final class Endpoints {
    private static final String HELLO = "Hello, world!";
    private static final int MAX_SLEEP = 60_000;
    private static final int MAX_FIBONACCI = 50;

    private Endpoints() {}

    /** Runs the endpoint of a request, on the calling thread. */
    static Response run(Request request) throws InterruptedException {
        if (!request.method().equals("GET")) {
            return Response.empty(405);
        }
        String path = request.path();
        if (path.equals("/hello")) {
            return new Response(200, HELLO);
        }
        boolean sleep = path.startsWith("/sleep/");
        if (!sleep && !path.startsWith("/fibonacci/")) {
            return Response.empty(404);
        }
        String text = path.substring(path.indexOf('/', 1) + 1);
        if (text.isEmpty() || text.indexOf('/') >= 0) {
            return Response.empty(404);
        }
        int number = parseNumber(text, sleep ? MAX_SLEEP : MAX_FIBONACCI);
        if (number < 0) {
            return Response.empty(400);
        }
        if (sleep) {
            Thread.sleep(number);
            return Response.empty(200);
        }
        return new Response(200, Long.toString(fibonacci(number)));
    }

    /** Digits only, and not above the largest; -1 for anything else. */
    private static int parseNumber(String text, int largest) {
        int number = 0;
        for (int i = 0; i < text.length(); i++) {
            int digit = text.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                return -1;
            }
            number = number * 10 + digit;
            if (number > largest) {
                return -1;
            }
        }
        return number;
    }

    /** By plain recursion: this is the work to be done. */
    private static long fibonacci(int i) {
        return i < 2 ? i : fibonacci(i - 1) + fibonacci(i - 2);
    }
}
