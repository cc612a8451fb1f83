// Runs the server from its start to its end. The main program sees nothing else of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/config/command_line.h"
#include "server/config/config.h"

namespace fairlock::server {

// The exit status of the process after kStorageFailed.
inline constexpr int kStorageFailedStatus = 3;

enum class ServeEnd : std::uint8_t {
  kStopped,
  kFailed,         // it could not start
  kStorageFailed,  // the process must exit without destructors: threads of the database still run
  kDeposed,        // another node leads, so the process starts again as a standby
};

// Serves until a signal or SHUTDOWN, or until the server fails. `options` are read again at SIGHUP.
// Sets `error` to the reason if the server could not start.
ServeEnd Serve(const CommandLine& line, std::span<const char* const> options, std::string& error);

// What is wrong with the users, the certificates or the cluster that the options describe; empty:
// nothing.
std::string CheckConfig(const Config& config);

}  // namespace fairlock::server
