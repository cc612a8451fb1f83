// A real etcd on loopback for the tests: one or more members, with their data in a temporary
// folder.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/etcd/etcd_options.h"

namespace fairlock::storage::etcd {

// An empty folder, removed together with its content.
class TestFolder {
 public:
  TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder();

  std::string PathOf(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs a program to its end; returns what it printed. If the program fails, the test fails.
std::string RunProgram(const std::vector<std::string>& words);

// Threads returns the number of threads of this process. AwaitThreads waits briefly until there are
// at most `count`, and returns whether there are.
int Threads();
bool AwaitThreads(int count);

// An etcd process. It dies with the test.
class EtcdProcess {
 public:
  EtcdProcess(std::vector<std::string> words, std::string log_file);
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;
  ~EtcdProcess() { Kill(); }

  void Start();
  void Kill();  // SIGKILL
  void Pause() const;
  void Continue() const;
  bool is_running() const { return pid_ > 0; }

 private:
  const std::vector<std::string> words_;
  const std::string log_file_;
  pid_t pid_ = 0;
};

struct EtcdSettings {
  // Options for every member, in addition to those that EtcdServer sets.
  std::vector<std::string> flags = {};
  EtcdOptions client = {};  // certificates and log-in; EtcdServer adds the endpoints
  bool is_tls = false;
};

// A cluster. The constructor returns when every member knows which one leads.
class EtcdServer {
 public:
  explicit EtcdServer(int members = 1, EtcdSettings settings = {});

  // Returns options for a client that tries the members in order.
  EtcdOptions options() const;
  std::string address_of(std::size_t member) const { return addresses_[member]; }
  EtcdProcess& member(std::size_t member) { return *members_[member]; }

  // Kills a member and starts it again; returns when it knows which member leads.
  void Restart(std::size_t member = 0);
  void AwaitLeader(std::size_t member);
  // The state of a server of one member. Both restart it.
  void Backup();
  void RestoreBackup();

  // Runs etcdctl on the first member, without TLS; returns what it printed.
  std::string Ctl(std::vector<std::string> words) const;

 private:
  const TestFolder folder_;
  const EtcdSettings settings_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<EtcdProcess>> members_;
};

}  // namespace fairlock::storage::etcd
