require "js"
JS.eval("startup")

def fibonacci(n) = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)

puts %(@bakeoff result {"value": #{fibonacci(Integer(ARGV.last))}})
$stdout.flush
JS.eval("finish")
