require "js"
JS.eval("startup")

def fibonacci(n)
  current, following = 0, 1
  n.times { current, following = following, current + following }
  current
end

puts %(@bakeoff result {"value": #{fibonacci(Integer(ARGV.last))}})
$stdout.flush
JS.eval("finish")
