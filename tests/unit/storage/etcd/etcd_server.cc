#include "tests/unit/storage/etcd/etcd_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

#include "storage/etcd/etcd_client.h"
#include "tests/doubles/free_port.h"

namespace fairlock::storage::etcd {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kReadyMax{20'000};
constexpr milliseconds kPause{20};

std::vector<char*> PointersTo(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child between fork and exec, where only system calls are allowed.
[[noreturn]] void BecomeProgram(char* const* words, const char* log_file) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int log = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvp(words[0], words);
  _exit(127);
}

std::string Url(const EtcdSettings& settings, const std::string& address) {
  return (settings.is_tls ? "https://" : "http://") + address;
}

}  // namespace

TestFolder::TestFolder() {
  std::string pattern = (fs::temp_directory_path() / "fairlock-etcd-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot create " << pattern;
  path_ = pattern;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string RunProgram(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  FILE* const output = popen((line + "2>&1").c_str(), "re");
  std::string text;
  std::array<char, 4'096> buffer{};
  while (std::size_t size = fread(buffer.data(), 1, buffer.size(), output)) {
    text.append(buffer.data(), size);
  }
  EXPECT_EQ(pclose(output), 0) << line << "\n" << text;
  return text;
}

int Threads() {
  const fs::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

bool AwaitThreads(int count) {
  for (milliseconds waited{0}; waited < milliseconds(500); waited += kPause) {
    if (Threads() <= count) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

EtcdProcess::EtcdProcess(std::vector<std::string> words, std::string log_file)
    : words_(std::move(words)), log_file_(std::move(log_file)) {}

void EtcdProcess::Start() {
  Kill();
  const std::vector<char*> words = PointersTo(words_);
  pid_ = fork();
  if (pid_ == 0) BecomeProgram(words.data(), log_file_.c_str());
  ASSERT_GT(pid_, 0);
}

void EtcdProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

// Returns when all its threads have stopped; one of them may run on for a moment after the signal.
void EtcdProcess::Pause() const {
  kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void EtcdProcess::Continue() const { kill(pid_, SIGCONT); }

EtcdServer::EtcdServer(int members, EtcdSettings settings) : settings_(std::move(settings)) {
  std::vector<std::string> peers;
  std::string cluster;
  for (int i = 0; i < members; ++i) {
    addresses_.push_back("127.0.0.1:" + std::to_string(tests::FreePort()));
    peers.push_back("http://127.0.0.1:" + std::to_string(tests::FreePort()));
    cluster += (i > 0 ? ",m" : "m") + std::to_string(i) + "=" + peers.back();
  }
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const std::string name = "m" + std::to_string(i);
    const std::string url = Url(settings_, addresses_[i]);
    std::vector<std::string> words{"etcd",
                                   "--name=" + name,
                                   "--data-dir=" + folder_.PathOf(name),
                                   "--log-level=error",
                                   "--unsafe-no-fsync",
                                   "--logger=zap",
                                   "--listen-client-urls=" + url,
                                   "--advertise-client-urls=" + url,
                                   "--listen-peer-urls=" + peers[i],
                                   "--initial-advertise-peer-urls=" + peers[i],
                                   "--initial-cluster=" + cluster,
                                   "--heartbeat-interval=50",
                                   "--election-timeout=300"};
    words.insert(words.end(), settings_.flags.begin(), settings_.flags.end());
    members_.push_back(
        std::make_unique<EtcdProcess>(std::move(words), folder_.PathOf(name + ".log")));
    members_.back()->Start();
  }
  for (std::size_t i = 0; i < addresses_.size(); ++i) AwaitLeader(i);
}

EtcdOptions EtcdServer::options() const {
  EtcdOptions options = settings_.client;
  for (const std::string& address : addresses_) {
    options.endpoints.push_back({.address = address, .is_tls = settings_.is_tls});
  }
  return options;
}

void EtcdServer::Restart(std::size_t member) {
  members_[member]->Start();
  AwaitLeader(member);
}

void EtcdServer::Backup() {
  members_[0]->Kill();
  fs::copy(folder_.PathOf("m0"), folder_.PathOf("backup"), fs::copy_options::recursive);
  Restart();
}

void EtcdServer::RestoreBackup() {
  members_[0]->Kill();
  fs::remove_all(folder_.PathOf("m0"));
  fs::copy(folder_.PathOf("backup"), folder_.PathOf("m0"), fs::copy_options::recursive);
  Restart();
}

void EtcdServer::AwaitLeader(std::size_t member) {
  EtcdOptions own = options();
  own.user.clear();
  own.password.clear();
  auto client = EtcdClient::Open(own);
  ASSERT_TRUE(client.ok()) << client.status().message();
  StatusAnswer answer;
  for (milliseconds waited{0}; waited < kReadyMax; waited += kPause) {
    answer = client.value()->StatusOf(member, milliseconds(2'000));
    if (answer.outcome == Outcome::kDone && answer.leader != 0) return;
    std::this_thread::sleep_for(kPause);
  }
  FAIL() << "etcd at " << addresses_[member] << " is not ready: " << answer.message;
}

std::string EtcdServer::Ctl(std::vector<std::string> words) const {
  words.insert(words.begin(), {"env", "ETCDCTL_API=3", "etcdctl", "--endpoints=" + addresses_[0]});
  return RunProgram(words);
}

}  // namespace fairlock::storage::etcd
