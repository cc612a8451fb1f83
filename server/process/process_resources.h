// CPU time and memory used by the process.
#pragma once

#include <cstdint>

#include "server/command/environment/environment.h"
#include "server/process/memory_meter.h"

namespace fairlock::server {

// Loop-confined.
class ProcessResources final : public command::ResourceMeter {
 public:
  command::ResourceUse Resources() const override;
  std::uint64_t MemoryInUse(bool asks_anew) override;

 private:
  MemoryMeter memory_;
};

}  // namespace fairlock::server
