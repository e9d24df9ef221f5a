require "js"
JS.eval("startup")

lines = 0
File.foreach("/data/numbers.txt", chomp: true) do |line|
  number = Integer(line)
  File.open("/data/#{number % 10}.txt", "a") { |file| file.puts number }
  lines += 1
end

puts %(@bakeoff result {"value": #{lines}})
$stdout.flush
JS.eval("finish")
