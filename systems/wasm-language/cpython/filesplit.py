lines = 0
with open("/data/numbers.txt") as numbers:
    for line in numbers:
        number = int(line)
        with open(f"/data/{number % 10}.txt", "a") as file:
            print(number, file=file)
        lines += 1
print(f'@bakeoff result {{"value": {lines}}}')
