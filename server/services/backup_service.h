// Makes backups of the data folder while the server runs.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>
#include <thread>

#include "contracts/loop_confined.h"
#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/logging/logging.h"
#include "server/net/loop/loop_poster.h"
#include "storage/data_folder/open_data.h"

namespace fairlock::server {

// One backup at a time, on a thread of its own.
class BackupService : contracts::LoopConfined {
 public:
  // All arguments must outlive this object.
  BackupService(command::ServerParts& parts, boost::asio::io_context& loop, Log& log)
      : parts_(parts), to_loop_(loop), log_(log) {}
  BackupService(const BackupService&) = delete;
  BackupService& operator=(const BackupService&) = delete;
  // Waits for the backup in progress.
  ~BackupService();

  // Sets the folder for backups whose request names no folder; empty means next to the data folder.
  void set_folder(std::string folder) { folder_ = std::move(folder); }

  // Starts a backup; the client is answered when it has been made. Returns an error if it cannot be
  // started. `data` must outlive this object.
  std::string Start(const storage::OpenedData& data, const command::BackupRequest& request,
                    std::uint64_t client_id);

 private:
  struct Made {
    std::string path;   // empty if no backup was made
    std::string error;  // empty if there was none
    bool is_named_here = false;
  };
  static Made Make(const storage::OpenedData& data, const command::BackupRequest& request,
                   const std::string& folder);
  void End(const Made& made, std::uint64_t client_id);

  command::ServerParts& parts_;
  net::LoopPoster to_loop_;
  Log& log_;
  std::string folder_;
  std::thread thread_;
};

}  // namespace fairlock::server
