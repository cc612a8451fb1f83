#include "server/command/handlers/value_keys.h"

#include "server/command/server_parts.h"
#include "server/command/table/refusals.h"

namespace fairlock::command {

std::string_view NameOfType(values::ValueType type) {
  switch (type) {
    case values::ValueType::kHash:
      return "hash";
    case values::ValueType::kList:
      return "list";
    case values::ValueType::kSortedSet:
      return "zset";
    case values::ValueType::kSet:
      return "set";
  }
  return "";
}

values::Value* ValueOf(const Invocation& call, const engine::KeyName& key) {
  return call.server.values.Find(key, call.now);
}

bool RefusesValue(Invocation& call, const engine::KeyName& key) {
  if (ValueOf(call, key) == nullptr) return false;
  RefuseType(call.reply);
  return true;
}

bool ExpireValue(const Invocation& call, values::Value& value,
                 const engine::ExpiryRequest& request) {
  Values& values = call.server.values;
  if (!request.MayChange(value.deadline(), call.now)) return false;
  if (request.lease_ms && *request.lease_ms <= 0) {
    values.Delete(value);
    return true;
  }
  values.store().SetTtl(value, request.lease_ms, call.now);
  values.PublishGeneric(value, request.lease_ms ? "expire" : "persist");
  return true;
}

}  // namespace fairlock::command
