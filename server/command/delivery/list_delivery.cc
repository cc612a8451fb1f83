#include "server/command/delivery/list_delivery.h"

#include <optional>
#include <variant>

#include "server/command/table/refusals.h"

namespace fairlock::command {

using protocol::ErrorCode;

namespace {

// The list with that key, or null.
values::Value* FindList(Values& values, const engine::KeyName& key, engine::TimeMs now) {
  values::Value* value = values.Find(key, now);
  return value != nullptr && value->type() == values::ValueType::kList ? value : nullptr;
}

// Whether an element may be pushed to that key.
bool TakesElement(Values& values, const engine::KeyName& key, engine::TimeMs now) {
  const values::Value* value = values.Find(key, now);
  return value != nullptr ? value->type() == values::ValueType::kList : !values.IsLock(key, now);
}

bool IsFull(Values& values, const engine::KeyName& key, std::string_view element,
            engine::TimeMs now) {
  values::Value* list = FindList(values, key, now);
  if (list == nullptr) return false;
  const auto& content = std::get<values::List>(list->content);
  return content.size() + 1 > values.limits().elements_max ||
         content.bytes() + element.size() + values::kElementBytes > values.limits().bytes_max;
}

std::string_view PopEvent(values::ListEnd end) {
  return end == values::ListEnd::kLeft ? "lpop" : "rpop";
}

std::string_view PushEvent(values::ListEnd end) {
  return end == values::ListEnd::kLeft ? "lpush" : "rpush";
}

}  // namespace

std::string PopElement(Values& values, values::Value& list, values::ListEnd end) {
  std::string element = std::get<values::List>(list.content).Pop(end);
  values.NoticeChange(list, PopEvent(end), kListEvents);
  return element;
}

void PushElement(Values& values, const engine::KeyName& key, values::ListEnd end,
                 std::string_view element, engine::TimeMs now) {
  values::Value* list = values.Find(key, now);
  if (list == nullptr) list = &values.store().Create(key, values::List());
  std::get<values::List>(list->content).Push(end, element);
  values.NoticeChange(*list, PushEvent(end), kListEvents);
  values.waiters().NoticePush(key);
}

std::string MoveElement(Values& values, values::Value& source, values::ListEnd from,
                        const engine::KeyName& target, values::ListEnd to, engine::TimeMs now) {
  auto& elements = std::get<values::List>(source.content);
  const std::string element = elements.Pop(from);
  // As in Redis, the event of the push comes first.
  if (target == source.name()) {
    elements.Push(to, element);
    values.NoticeChange(source, PushEvent(to), kListEvents);
    values.waiters().NoticePush(target);
  } else {
    PushElement(values, target, to, element, now);
  }
  values.NoticeChange(source, PopEvent(from), kListEvents);
  return element;
}

void ListDelivery::Serve(engine::TimeMs now) {
  while (const auto key = values_.waiters().TakeReady()) ServeKey(*key, now);
}

void ListDelivery::ServeKey(const values::ListWaiters::Key& key, engine::TimeMs now) {
  while (engine::Attachment* first = values_.waiters().FirstFor(key)) {
    values::Value* list = FindList(values_, {key.db, key.bytes}, now);
    if (list == nullptr) return;
    Hand(static_cast<Client&>(*first), key, *list, now);
  }
}

void ListDelivery::Hand(Client& client, const values::ListWaiters::Key& key, values::Value& list,
                        engine::TimeMs now) {
  const auto wait = values_.waiters().Remove(client);
  if (!wait->target) {
    const std::string element = PopElement(values_, list, wait->from);
    return Answer(client, [&](protocol::ReplyWriter& reply) {
      reply.ArrayHeader(2);
      reply.Bulk(key.bytes);
      reply.Bulk(element);
    });
  }
  const engine::KeyName target{key.db, wait->target->key};
  if (!TakesElement(values_, target, now)) {
    return Answer(client, [&](protocol::ReplyWriter& reply) { RefuseType(reply); });
  }
  const auto& elements = std::get<values::List>(list.content);
  const bool is_left = wait->from == values::ListEnd::kLeft;
  const std::string element = elements.at(is_left ? 0 : elements.size() - 1);
  if (target.bytes != key.bytes && IsFull(values_, target, element, now)) {
    return Answer(client, [&](protocol::ReplyWriter& reply) {
      reply.Error(ErrorCode::kFull,
                  "the list at the destination has reached value_elements_max "
                  "or value_bytes_max");
    });
  }
  MoveElement(values_, list, wait->from, target, wait->target->end, now);
  Answer(client, [&](protocol::ReplyWriter& reply) { reply.Bulk(element); });
}

void ListDelivery::EndDue(engine::TimeMs now) {
  while (engine::Attachment* due = values_.waiters().FirstDue(now)) {
    EndWait(static_cast<Client&>(*due));
  }
}

void ListDelivery::EndWait(Client& client) {
  if (!values_.waiters().Remove(client)) return;
  const auto denial = client.wait.TakeDenial();
  const bool is_unblocked = client.wait.TakeFailsAtTimeOut();
  Answer(client, [&](protocol::ReplyWriter& reply) {
    if (denial != nullptr) {
      ++statistics_.counters.denied_requests;
      reply.Error(ErrorCode::kNoPerm, *denial);
    } else if (is_unblocked) {
      reply.Error(ErrorCode::kUnblocked, "client unblocked via CLIENT UNBLOCK");
    } else {
      reply.NullArray();
    }
  });
}

std::vector<std::string_view> ListDelivery::RequestOf(const Client& client) const {
  const values::ListWait& wait = *values_.waiters().Find(client);
  std::vector<std::string_view> request = {client.profile.last_command->name};
  request.insert(request.end(), wait.keys.begin(), wait.keys.end());
  if (wait.target) request.emplace_back(wait.target->key);
  request.emplace_back("0");  // the time-out
  return request;
}

template <typename Write>
void ListDelivery::Answer(Client& client, Write write) {
  client.wait.End(statistics_.gauges);
  protocol::ReplyWriter reply = client.writer();
  write(reply);
  replies_.CountError(client, reply);
  client.output.NoteFlags(kWrite);
  client.transport.NoticeOutput();
}

}  // namespace fairlock::command
