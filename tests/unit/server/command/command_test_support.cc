#include "tests/unit/server/command/command_test_support.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "protocol/reply_parser.h"
#include "protocol/request_writer.h"
#include "server/access/slow_hash.h"
#include "server/access/user_table.h"
#include "server/command/handlers/command_families.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

constexpr std::size_t kStepsMax = 1000;
constexpr std::size_t kRequestsMax = 1000;

std::string ShowElements(const protocol::Reply& reply, std::string_view open,
                         std::string_view close) {
  std::string text(open);
  for (std::size_t i = 0; i < reply.elements.size(); ++i) {
    if (i > 0) text += ' ';
    text += ShowReply(reply.elements[i]);
  }
  return text.append(close);
}

std::string ShowReplies(std::string_view bytes) {
  std::string text;
  protocol::ReplyParser parser;
  while (!bytes.empty()) {
    protocol::Reply reply;
    std::size_t consumed = 0;
    const protocol::ReplyStatus status = parser.Parse(bytes, reply, consumed);
    if (status != protocol::ReplyStatus::kReply) {
      return text.append("broken reply: ").append(Quoted(bytes, 256));
    }
    if (!text.empty()) text += '\n';
    text += ShowReply(reply);
    bytes.remove_prefix(consumed);
  }
  return text;
}

}  // namespace

std::string ShowReply(const protocol::Reply& reply) {
  switch (reply.type) {
    case protocol::ReplyType::kNull:
      return "nil";
    case protocol::ReplyType::kError:
      return "-" + reply.text;
    case protocol::ReplyType::kInteger:
      return std::to_string(reply.integer);
    case protocol::ReplyType::kBulk:
    case protocol::ReplyType::kVerbatim:
      return '"' + reply.text + '"';
    case protocol::ReplyType::kDouble:
      return std::to_string(reply.number);
    case protocol::ReplyType::kBoolean:
      return reply.integer != 0 ? "true" : "false";
    case protocol::ReplyType::kSimple:
    case protocol::ReplyType::kBigNumber:
      return reply.text;
    case protocol::ReplyType::kMap:
      return ShowElements(reply, "{", "}");
    case protocol::ReplyType::kPush:
      return ShowElements(reply, ">[", "]");
    case protocol::ReplyType::kArray:
    case protocol::ReplyType::kSet:
      break;
  }
  return ShowElements(reply, "[", "]");
}

Environment FakeEnvironment::Given() {
  return {.facts = facts,
          .clock = *this,
          .resources = *this,
          .settings = *this,
          .log = *this,
          .request_shutdown = [this] { is_shutdown_requested = true; },
          .persistence = this,
          .users = this};
}

std::string FakeEnvironment::StartBackup(const BackupRequest& /*request*/,
                                         std::uint64_t /*client_id*/) {
  return "there is no stored data to copy";
}

void FakeEnvironment::LogFromScript(script::LogLevel level, std::string_view text) {
  script_log += std::to_string(static_cast<int>(level)) + " " + std::string(text) + "\n";
}

std::vector<Setting> FakeEnvironment::FindSettings(const engine::Glob& name_glob) const {
  std::vector<Setting> found;
  for (const Setting& setting : settings) {
    if (name_glob.Matches(setting.name)) found.push_back(setting);
  }
  return found;
}

std::string FakeEnvironment::ChangeSetting(std::string_view name, std::string_view value) {
  if (value == "bad") return "bad value";
  for (Setting& setting : settings) {
    if (setting.name == name) setting.value = value;
  }
  return "";
}

bool FakeEnvironment::StartPasswordCheck(PasswordQuestion question, std::uint64_t comparison_id) {
  if (password_checks.size() >= password_checks_max) return false;
  password_checks.emplace_back(comparison_id, std::move(question));
  return true;
}

void FakeEnvironment::LogFailedLogIn(std::string_view address, std::string_view user) {
  failed_log_ins.push_back(std::string(address) + " " + std::string(user));
}

std::uint64_t FakeEnvironment::MemoryInUse(bool asks_anew) {
  ++memory_looks;
  if (asks_anew) ++memory_asked;
  return memory_in_use += memory_per_look;
}

void FakeEnvironment::LogMemoryShort(bool is_short, std::uint64_t used_bytes,
                                     std::uint64_t bytes_max) {
  memory_notes.push_back(std::string(is_short ? "short " : "room ") + std::to_string(used_bytes) +
                         " " + std::to_string(bytes_max));
}

void FakeEnvironment::LogClosedNewcomer(ClosedNewcomer why, std::string_view address,
                                        engine::TimeMs /*now*/) {
  const bool is_slow = why == ClosedNewcomer::kTooSlow;
  closed_newcomers.push_back((is_slow ? "slow " : "too many ") + std::string(address));
}

TestClient::TestClient(TestServer& server, const std::string& peer) : server_(server) {
  pipeline_ =
      std::make_unique<RequestPipeline>(server.parts().pipeline, static_cast<Transport&>(*this),
                                        ClientAddress{peer, "127.0.0.1:3247", 8}, server.now());
  id_ = client().profile.id;
}

TestClient::~TestClient() { Close(); }

std::string TestClient::Say(std::string_view line) { return ShowReplies(Send(line)); }

std::string TestClient::Say(std::initializer_list<std::string_view> words) {
  std::string request;
  protocol::AppendRequest(request, words);
  return ShowReplies(SendBytes(request));
}

std::string TestClient::Send(std::string_view line) {
  return SendBytes(std::string(line).append("\r\n"));
}

void TestClient::Receive(std::string_view bytes) {
  assert(!is_closed_);
  input_ += bytes;
  Execute();
}

std::string TestClient::SendBytes(std::string_view bytes) {
  Receive(bytes);
  server_.ExecuteReady();
  return HearBytes();
}

std::string TestClient::Hear() { return ShowReplies(HearBytes()); }

std::string TestClient::HearBytes() {
  Client& client = pipeline_->client();
  std::string bytes = std::exchange(client.output.bytes(), {});
  client.output.CountTaken(bytes.size());
  client.NoticeSent(bytes.size());
  if (client.output.is_closing()) Close();
  return bytes;
}

bool TestClient::AdmitOutput(std::size_t bytes) {
  is_killed_ = is_killed_ || client().output.bytes().size() + bytes > output_bytes_max_;
  return !is_killed_;
}

void TestClient::Execute() {
  is_ready_ = false;
  do {
    input_.erase(0, pipeline_->Consume(input_, kRequestsMax, server_.now()));
  } while (pipeline_->has_more_to_execute() && !client().wait.is_waiting() &&
           !client().output.is_closing());
}

void TestClient::Close() {
  is_closed_ = true;
  is_ready_ = false;
  pipeline_->Detach(server_.now());
}

TestServer::TestServer(const engine::EngineOptions& options,
                       const record::RecorderOptions& recorder_options)
    : parts_(WholeLanguage(), options, environment_.Given(), now_, recorder_options) {}

TestServer::~TestServer() {
  for (const auto& client : clients_) client->Close();
}

TestClient& TestServer::Connect() {
  return Connect("127.0.0.1:" + std::to_string(50'001 + clients_.size()));
}

TestClient& TestServer::Connect(const std::string& peer) {
  clients_.push_back(std::make_unique<TestClient>(*this, peer));
  return *clients_.back();
}

void TestServer::SetUsers(std::string_view acl_text) {
  access::UsersRead read = access::ReadUsers(
      {.acl_text = std::string(acl_text), .default_password = ""}, parts_.access.vocabulary());
  assert(read.error.empty());
  parts_.log_ins.ForgetOthers(*read.users);
  parts_.access_review.SetUsers(std::move(read.users), now_);
  ExecuteReady();
}

void TestServer::CheckPasswords() {
  for (const auto& [comparison_id, asked] : std::exchange(environment_.password_checks, {})) {
    const PasswordQuestion& question = asked;
    const auto match = std::find_if(
        question.stored.begin(), question.stored.end(),
        [&](const std::string& stored) { return access::IsPasswordOf(stored, question.password); });
    std::optional<std::size_t> place;
    if (match != question.stored.end()) {
      place = static_cast<std::size_t>(match - question.stored.begin());
    }
    parts_.log_ins.Finish(comparison_id, place, now_);
  }
  ExecuteReady();
}

void TestServer::ExecuteReady() {
  const auto is_ready = [](const auto& client) { return client->is_ready_; };
  while (true) {
    const auto next = std::find_if(clients_.begin(), clients_.end(), is_ready);
    if (next == clients_.end()) break;
    (*next)->Execute();
  }
  for (const auto& client : clients_) {
    if (std::exchange(client->is_killed_, false)) client->Close();
  }
}

void TestServer::SkipTo(engine::TimeMs now) {
  environment_.unix_time_us += (now - now_) * 1000;
  now_ = now;
}

void TestServer::AdvanceBy(engine::DurationMs duration_ms) {
  const engine::TimeMs until = now_ + duration_ms;
  // Something that ends in the last of these milliseconds is certainly over only one tick later.
  while (parts_.NextDeadline() <= until + 1) {
    SkipTo(std::max(now_, parts_.NextDeadline()));
    while (parts_.Advance(now_, kStepsMax)) {
    }
    ExecuteReady();
  }
  SkipTo(std::max(now_, until));
}

std::string TestServer::EndEverything() {
  for (const auto& client : clients_) client->Close();
  ExecuteReady();
  BreakEndless();
  while (parts_.NextDeadline() < engine::kNever) {
    AdvanceBy(std::max<engine::DurationMs>(parts_.NextDeadline() - now_, 0));
  }
  parts_.locks.engine().CheckInvariants();
  const engine::EngineCounts& counts = parts_.locks.engine().counts();
  if (counts.locks + counts.holds + counts.places + counts.watchers == 0) return {};
  return "when all was closed and over there remained " + std::to_string(counts.locks) +
         " locks, " + std::to_string(counts.holds) + " holds, " + std::to_string(counts.places) +
         " places, " + std::to_string(counts.watchers) + " watchers";
}

// Ends the holds that were set without an expiry.
void TestServer::BreakEndless() {
  std::vector<std::pair<std::uint8_t, std::string>> keys;
  std::uint64_t cursor = 0;
  do {
    cursor = parts_.locks.engine().inspection().Scan(
        cursor, kStepsMax, {.is_endless = true}, now_,
        [&](const engine::LockSummary& lock) { keys.emplace_back(lock.key.db, lock.key.bytes); });
  } while (cursor != 0);
  for (const auto& [db, bytes] : keys) {
    parts_.locks.engine().Break({db, bytes}, std::nullopt, parts_.locks.StepAt(now_));
  }
}

}  // namespace fairlock::command
