# frozen_string_literal: true

require "socket"

# Passes connections on to a server. The block is given each request, and returns the seconds by
# which the reply is delayed, or :cut to end the connection instead of replying.
class Relay
  def initialize(port, &decide)
    @port = port
    @decide = decide
    @listener = TCPServer.new("127.0.0.1", 0)
    @threads = [Thread.new { loop { start(@listener.accept) } }]
  end

  def port = @listener.addr[1]

  def close
    @threads.each(&:kill).each(&:join)
    @listener.close
  end

  private

  def start(near)
    far = TCPSocket.new("127.0.0.1", @port)
    decisions = []
    @threads << Thread.new { copy(near, far) { |request| decisions << @decide.call(request) } }
    @threads << Thread.new { copy(far, near) { hold_back(decisions.shift, near) } }
  end

  def hold_back(decision, near)
    decision == :cut ? near.close : sleep(decision || 0)
  end

  def copy(from, to)
    loop do
      text = from.readpartial(65_536)
      yield text
      to.write(text)
    end
  rescue IOError, SystemCallError
    [from, to].each(&:close)
  end
end
