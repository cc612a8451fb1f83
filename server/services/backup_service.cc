#include "server/services/backup_service.h"

#include <memory>
#include <utility>

#include "server/net/clock.h"
#include "storage/data_folder/backup.h"

namespace fairlock::server {

BackupService::~BackupService() {
  if (thread_.joinable()) thread_.join();
}

std::string BackupService::Start(const storage::OpenedData& data,
                                 const command::BackupRequest& request, std::uint64_t client_id) {
  AssertInLoop();
  if (thread_.joinable()) return "another backup is already in progress";
  thread_ = std::thread([this, &data, request, client_id, folder = folder_] {
    auto made = std::make_shared<Made>(Make(data, request, folder));
    to_loop_.Post([this, made, client_id] { End(*made, client_id); });
  });
  return "";
}

// Runs on the backup thread.
BackupService::Made BackupService::Make(const storage::OpenedData& data,
                                        const command::BackupRequest& request,
                                        const std::string& folder) {
  if (!request.path.empty()) {
    const storage::Status status = storage::BackUp(data, request.path);
    return {.path = status.ok() ? request.path : "", .error = status.message()};
  }
  storage::DatedBackup made =
      storage::BackUpDated(data, {.folder = request.folder.empty() ? folder : request.folder,
                                  .unix_seconds = net::UnixTimeUs() / 1'000'000,
                                  .kept_max = request.kept_max});
  return {.path = std::move(made.path), .error = made.status.message(), .is_named_here = true};
}

void BackupService::End(const Made& made, std::uint64_t client_id) {
  AssertInLoop();
  thread_.join();
  if (!made.path.empty()) log_.Info("backup made: {}", made.path);
  if (!made.error.empty()) log_.Error("backup: {}", made.error);
  command::Client* const client = parts_.clients.Find(client_id);
  if (client == nullptr) return;
  const std::string error = made.path.empty() ? "no backup was made: " + made.error : made.error;
  parts_.replies.AnswerBackup(*client, error, made.is_named_here ? made.path : "");
}

}  // namespace fairlock::server
