import sys


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


print(f'@bakeoff result {{"value": {fibonacci(int(sys.argv[-1]))}}}')
