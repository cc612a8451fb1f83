# The resources that a server on this machine has used, as counted by the kernel.

module ServerMeter
  # CPU time of all its threads, in seconds.
  def self.cpu_s(pid)
    Dir["/proc/#{pid}/task/*/schedstat"].sum { |file| File.read(file).split.first.to_i } / 1e9
  end

  def self.resident_bytes(pid)
    File.read("/proc/#{pid}/status")[/^VmRSS:\s+(\d+) kB/, 1].to_i * 1024
  end
end
