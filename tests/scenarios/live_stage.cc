#include "tests/scenarios/live_stage.h"

#include <thread>
#include <utility>
#include <vector>

#include "protocol/request_writer.h"
#include "tests/scenarios/notation.h"

namespace fairlock::scenarios {

using protocol::Reply;
using protocol::ReplyType;
using std::chrono::milliseconds;

namespace {

std::string Request(std::initializer_list<std::string_view> words) {
  std::string request;
  protocol::AppendRequest(request, words);
  return request;
}

bool IsPage(const std::optional<Reply>& reply) {
  return reply && reply->type == ReplyType::kArray && reply->elements.size() == 2 &&
         reply->elements[1].type == ReplyType::kArray;
}

}  // namespace

std::optional<Reply> LiveStage::Ask(std::string_view request) {
  if (!own_.connection.Send(request)) return std::nullopt;
  std::optional<Reply> reply = own_.inbox.Take();
  while (!reply && ReceiveMore(own_, options_.patience)) reply = own_.inbox.Take();
  return reply;
}

void LiveStage::CancelAllPlaces(const std::string& key) {
  const auto places = Ask(Request({"QUEUE", key, "COUNT", "10000"}));
  if (!places || places->type != ReplyType::kArray) return;
  for (const Reply& place : places->elements) {
    for (std::size_t i = 0; i + 1 < place.elements.size(); i += 2) {
      if (place.elements[i].text != "owner") continue;
      Ask(Request({"CANCEL", key, place.elements[i + 1].text}));
    }
  }
}

void LiveStage::DropOverrides() {
  const auto rows = Ask(Request({"LIMIT", "LIST"}));
  if (!rows || rows->type != ReplyType::kArray) return;
  for (const Reply& row : rows->elements) {
    Ask(Request({"SELECT", std::to_string(row.elements[3].integer)}));
    Ask(Request({"LIMIT", "DEL", row.elements[1].text}));
  }
}

std::string LiveStage::BreakAllLocks() {
  DropOverrides();
  std::string cursor = "0";
  do {
    const auto page = Ask(Request({"LOCKS", cursor, "COUNT", "1000", "DB", "*"}));
    if (!IsPage(page)) return "LOCKS got " + (page ? ShowReply(*page) : "no reply");
    for (const Reply& lock : page->elements[1].elements) {
      const std::string db = std::to_string(lock.elements.back().integer);
      Ask(Request({"SELECT", db}));
      const std::string& key = lock.elements.front().text;
      // Removes the places first, so that BREAK does not grant the locks to waiters.
      CancelAllPlaces(key);
      const auto broken = Ask(Request({"BREAK", key}));
      if (!broken || broken->type != ReplyType::kInteger) return "BREAK did not work";
    }
    cursor = page->elements[0].text;
  } while (cursor != "0");
  return {};
}

std::string LiveStage::Begin() {
  if (!own_.connection.is_open()) {
    if (std::string wrong = own_.connection.Open(options_.server); !wrong.empty()) return wrong;
  }
  return BreakAllLocks();
}

std::string LiveStage::End() {
  peers_.clear();
  Settle();
  return BreakAllLocks();
}

std::string LiveStage::Open(const std::string& who) {
  return peers_[who].connection.Open(options_.server);
}

void LiveStage::Send(const std::string& who, std::string_view bytes) {
  // If the server has closed the connection meanwhile, reading will reveal it.
  peers_.at(who).connection.Send(bytes);
}

void LiveStage::Close(const std::string& who) {
  peers_.erase(who);
  Settle();
}

bool LiveStage::ReceiveMore(Peer& peer, milliseconds patience) {
  std::string bytes;
  if (!peer.connection.Receive(bytes, patience)) return false;
  peer.inbox.Append(bytes);
  return true;
}

void LiveStage::Settle() {
  // Requests that were sent before the first PING are read no later than in the turn that reads it,
  // so they are done, and their replies sent, before the second PING is answered.
  const std::string ping = Request({"PING"});
  Ask(ping);
  Ask(ping);
}

std::optional<Reply> LiveStage::Take(const std::string& who, Patience patience) {
  Peer& peer = peers_.at(who);
  std::optional<Reply> reply = peer.inbox.Take();
  if (!reply && patience == Patience::kNone) Settle();
  const milliseconds time = patience == Patience::kFull ? options_.patience : milliseconds(0);
  while (!reply && ReceiveMore(peer, time)) reply = peer.inbox.Take();
  return reply;
}

bool LiveStage::IsClosed(const std::string& who, Patience patience) {
  Peer& peer = peers_.at(who);
  ReceiveMore(peer, patience == Patience::kFull ? options_.patience : milliseconds(0));
  return peer.connection.is_ended();
}

void LiveStage::Advance(std::int64_t duration_ms) {
  std::this_thread::sleep_for(milliseconds(duration_ms));
}

}  // namespace fairlock::scenarios
