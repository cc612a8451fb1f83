#include "storage/data_folder/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "storage/data_folder/file_identity.h"

namespace fairlock::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "fairlock.lock";
constexpr const char* kIdFile = "fairlock.id";
constexpr std::string_view kReady = "ready";
constexpr std::string_view kNew = "new";      // the database may be incomplete
constexpr std::string_view kCopy = "backup";  // the folder is a backup

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

std::string Octal(mode_t mode) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%04o", mode);
  return digits;
}

// Human-readable text; the last line is a checksum of the lines before it.
std::string IdText(const LogId& id, std::string_view state, const FileIdentity& file) {
  std::string text = "fairlock data 1\nid " + Hex(View(id)) + "\nstate " + std::string(state) +
                     "\ninode " + std::to_string(file.inode) + "\nborn " +
                     std::to_string(file.born_ns) + "\nfilesystem " +
                     std::to_string(file.file_system) + "\n";
  char seal[32];
  std::snprintf(seal, sizeof seal, "seal %016llx\n",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return text + seal;
}

std::string MarkText(const std::string& path, const LogId& id) {
  return "fairlock has data in " + path + "\nid " + Hex(View(id)) + "\n";
}

// The rest of the line that starts with `name` and a space; empty if there is no such line.
std::string_view Field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return line.substr(name.size() + 1);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

std::uint64_t NumberField(std::string_view text, std::string_view name) {
  return std::strtoull(std::string(Field(text, name)).c_str(), nullptr, 10);
}

bool ParseLogId(std::string_view hex, LogId& id) {
  if (hex.size() != 2 * id.size()) return false;
  for (std::size_t i = 0; i < id.size(); ++i) {
    id[i] = static_cast<char>(std::strtoul(std::string(hex.substr(2 * i, 2)).c_str(), nullptr, 16));
  }
  return Hex(View(id)) == hex;
}

// Whether the file is one that the server or the file system creates before there is any data. (A
// server opens its sockets before it reads its data.)
bool IsNoData(const fs::directory_entry& entry, const std::vector<std::string>& own_files) {
  const std::string name = entry.path().filename().string();
  if (name == kLockFile || name == std::string(kIdFile) + ".new" || name == "lost+found") {
    return true;
  }
  std::error_code error;
  return entry.is_socket(error) || std::ranges::any_of(own_files, [&](const std::string& own) {
           return fs::equivalent(entry.path(), own, error);
         });
}

// The name of a file in the folder that is not one of the server's own; empty if there is none.
Result<std::string> FindStrangeFile(const std::string& path,
                                    const std::vector<std::string>& own_files) {
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!IsNoData(*entry, own_files)) return entry->path().filename().string();
  }
  if (error) return Failed("cannot read " + path + ": " + error.message());
  return std::string();
}

}  // namespace

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      only_looks_(other.only_looks_),
      log_id_(other.log_id_),
      lock_(std::exchange(other.lock_, -1)),
      is_new_(other.is_new_),
      is_copy_(other.is_copy_),
      warnings_(std::move(other.warnings_)) {}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) close(lock_);
}

Result<DataDirectory> DataDirectory::Open(const DirectoryOptions& options) {
  std::error_code error;
  const fs::path absolute = fs::absolute(options.path, error).lexically_normal();
  DataDirectory directory((absolute.has_filename() ? absolute : absolute.parent_path()).string(),
                          options.only_look);
  const std::string id_path = directory.path_ + "/" + kIdFile;
  if (options.only_look && !fs::exists(id_path, error)) {
    return Refused(directory.path_ + " is not a fairlock data folder: it does not contain " +
                   kIdFile);
  }
  if (fs::create_directories(directory.path_, error)) {
    fs::permissions(directory.path_, fs::perms::owner_all, error);
  }
  if (error) return Failed("cannot create the folder " + directory.path_ + ": " + error.message());
  if (!options.only_look) directory.KeepOthersOut();
  Status status = directory.Lock();
  if (!status.ok()) return status;
  if (!fs::exists(id_path, error)) {
    status = directory.BeginAnew(options);
  } else {
    status = directory.ReadId(id_path);
    if (status.ok() && options.initialise && !directory.is_new_) {
      status = Refused(directory.path_ + " has data; --init is only allowed for an empty folder");
    }
  }
  if (!status.ok()) return status;
  return directory;
}

void DataDirectory::KeepOthersOut() {
  struct stat folder {};
  constexpr mode_t kOfOthers = S_IWGRP | S_IRWXO;
  if (stat(path_.c_str(), &folder) != 0 || (folder.st_mode & kOfOthers) == 0) return;
  const mode_t mode = folder.st_mode & ~(S_IFMT | kOfOthers);
  if (chmod(path_.c_str(), mode) == 0) {
    warnings_.push_back("other users of this machine could read or change the files in " + path_ +
                        "; its permissions are now " + Octal(mode));
  } else {
    warnings_.push_back("other users of this machine can read or change the files in " + path_ +
                        ", which belongs to another user; use `chmod 700`, or 750");
  }
}

Status DataDirectory::Lock() {
  const std::string path = path_ + "/" + kLockFile;
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return SystemFailure("cannot open", path);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemFailure("cannot lock", path);
    const auto holder = ReadSmallFile(path);
    return Refused(path_ + " is in use by another process" +
                   (holder.ok() && !holder->empty() ? ", " + holder.value() : ""));
  }
  const std::string process = std::to_string(getpid());
  if (ftruncate(lock_, 0) != 0 ||
      pwrite(lock_, process.data(), process.size(), 0) != static_cast<ssize_t>(process.size())) {
    return SystemFailure("cannot write", path);
  }
  return {};
}

Status DataDirectory::BeginAnew(const DirectoryOptions& options) {
  const auto strange = FindStrangeFile(path_, options.own_files);
  if (!strange.ok()) return strange.status();
  if (!strange->empty()) {
    return Refused(path_ + " is not a fairlock data folder: it contains files such as " +
                   strange.value() + ", but not " + kIdFile);
  }
  std::error_code error;
  if (fs::exists(mark_path(), error) && !options.initialise) {
    return Refused(path_ + " is empty, but " + mark_path() +
                   " says that it had data: is its file system mounted? To start without any "
                   "locks, use --init");
  }
  if (getrandom(log_id_.data(), log_id_.size(), 0) != static_cast<ssize_t>(log_id_.size())) {
    return Failed("the system provides no random numbers");
  }
  is_new_ = true;
  return WriteId(kNew);
}

Status DataDirectory::ReadId(const std::string& id_path) {
  const auto text = ReadSmallFile(id_path);
  if (!text.ok()) return text.status();
  const std::string state(Field(text.value(), "state"));
  const FileIdentity named{.inode = NumberField(text.value(), "inode"),
                           .born_ns = NumberField(text.value(), "born"),
                           .file_system = NumberField(text.value(), "filesystem")};
  const bool is_known = state == kReady || state == kNew || state == kCopy;
  if (!ParseLogId(Field(text.value(), "id"), log_id_) || !is_known ||
      IdText(log_id_, state, named) != text.value()) {
    return Damaged(id_path + " is damaged, or was written by another version");
  }
  const auto own = IdentityOf(id_path);
  if (!own.ok()) return own.status();
  is_new_ = state == kNew;
  is_copy_ = !is_new_ && (state == kCopy || own.value() != named);
  if (only_looks_) return {};
  if (is_new_) {
    // The first start did not complete, so nothing was ever acknowledged.
    std::error_code error;
    fs::remove_all(database_path(), error);
    return error ? Failed("cannot empty " + database_path() + ": " + error.message()) : Status();
  }
  if (is_copy_) {
    warnings_.push_back(path_ + " is a copy, or was restored: tokens start higher");
  }
  return CheckMark();
}

Status DataDirectory::CheckMark() {
  std::error_code error;
  if (!fs::exists(mark_path(), error)) {
    if (!is_copy_) WriteMark();
    return {};
  }
  const auto mark = ReadSmallFile(mark_path());
  if (!mark.ok()) return mark.status();
  const std::string_view id = Field(mark.value(), "id");
  if (id == Hex(View(log_id_))) return {};
  return Refused(path_ + " has the data of " + Hex(View(log_id_)) + ", but " + mark_path() +
                 " expects the data of " + std::string(id) +
                 ": is the right file system mounted? If this is intended, remove that file");
}

Status DataDirectory::WriteId(std::string_view state) {
  FileInTheMaking file(path_ + "/" + kIdFile);
  const auto identity = file.Identity();
  if (!identity.ok()) return identity.status();
  return file.Finish(IdText(log_id_, state, identity.value()));
}

void DataDirectory::WriteMark() {
  FileInTheMaking file(mark_path());
  const Status status = file.Finish(MarkText(path_, log_id_));
  if (!status.ok()) {
    warnings_.push_back(status.message() + ": if the file system of " + path_ +
                        " is not mounted at a later start, that start will look like a first one");
  }
}

bool DataDirectory::Contains(const std::string& path) const {
  std::error_code error;
  const fs::path folder = fs::canonical(path_, error);
  const fs::path there = error ? fs::path() : fs::weakly_canonical(path, error);
  if (error) return false;
  const fs::path way = there.lexically_relative(folder);
  return !way.empty() && *way.begin() != "..";
}

Status DataDirectory::Settle() {
  Status status = WriteId(kReady);
  if (!status.ok()) return status;
  is_new_ = is_copy_ = false;
  WriteMark();
  return status;
}

Status WriteIdOfBackup(const std::string& path, const LogId& log_id) {
  return FileInTheMaking(path + "/" + kIdFile).Finish(IdText(log_id, kCopy, {}));
}

bool IsBackupOf(const std::string& path, const LogId& log_id) {
  const auto text = ReadSmallFile(path + "/" + kIdFile);
  return text.ok() && text.value() == IdText(log_id, kCopy, {});
}

}  // namespace fairlock::storage
