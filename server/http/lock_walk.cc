#include "server/http/lock_walk.h"

namespace fairlock::http {

bool LockWalk::Step(CommandCaller& commands, engine::TimeMs now,
                    const std::function<void(protocol::Reply& row)>& visit) {
  std::vector<std::string_view> arguments = {"LOCKS", cursor_, "COUNT", kLocksPerStep};
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  protocol::Reply page = commands.Call(arguments, now);
  if (page.IsError()) {
    error_ = std::move(page);
    return true;
  }
  for (protocol::Reply& row : page.elements.at(1).elements) visit(row);
  cursor_ = page.elements.at(0).text;
  return cursor_ == "0";
}

}  // namespace fairlock::http
