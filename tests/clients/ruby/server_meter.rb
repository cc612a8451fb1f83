# The resources that a server on this machine has used, according to the kernel.

module ServerMeter
  # Returns the CPU time of all threads of the server, in seconds.
  def self.cpu_s(pid)
    Dir["/proc/#{pid}/task/*/schedstat"].sum { |file| File.read(file).split.first.to_i } / 1e9
  end

  def self.resident_bytes(pid)
    File.read("/proc/#{pid}/status")[/^VmRSS:\s+(\d+) kB/, 1].to_i * 1024
  end
end
