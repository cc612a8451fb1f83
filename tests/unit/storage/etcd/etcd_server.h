// A real etcd on loopback for the tests: one member or several, with data in a folder of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/etcd/etcd_options.h"

namespace fairlock::storage::etcd {

// An empty folder, removed with its content.
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

// A port of 127.0.0.1 that nothing listened on a moment ago.
int FreePort();

// Runs a program to its end; returns what it printed. A failure fails the test.
std::string RunProgram(const std::vector<std::string>& words);

// The threads of this process. AwaitThreads waits for a moment until there are no more than that.
int Threads();
bool AwaitThreads(int count);

// A process of etcd. It dies with the test.
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
  std::vector<std::string> flags = {};  // for every member, beside those that the class sets
  EtcdOptions client = {};              // certificates and login; the class adds the endpoints
  bool is_tls = false;
};

// A cluster. The constructor returns when every member knows the leader.
class EtcdServer {
 public:
  explicit EtcdServer(int members = 1, EtcdSettings settings = {});

  // For a client that asks the members in their order.
  EtcdOptions options() const;
  std::string address_of(std::size_t member) const { return addresses_[member]; }
  EtcdProcess& member(std::size_t member) { return *members_[member]; }

  // Kills and starts a member; returns when it knows the leader.
  void Restart(std::size_t member = 0);
  void AwaitLeader(std::size_t member);

  // etcdctl with the address of the first member, without TLS; returns what it printed.
  std::string Ctl(std::vector<std::string> words) const;

 private:
  const TestFolder folder_;
  const EtcdSettings settings_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<EtcdProcess>> members_;
};

}  // namespace fairlock::storage::etcd
