// Hands elements of lists to the requests that wait for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/command/client/client.h"
#include "server/command/delivery/awaited_replies.h"
#include "server/command/statistics/statistics.h"
#include "server/command/values/values.h"
#include "server/engine/api/types.h"
#include "server/values/list_waiters.h"

namespace fairlock::command {

// Takes an element out of the list and publishes the event.
std::string PopElement(Values& values, values::Value& list, values::ListEnd end);
// Adds an element to the list with that key, which is created if the key is free. REQUIRES: the key
// is free or has a list.
void PushElement(Values& values, const engine::KeyName& key, values::ListEnd end,
                 std::string_view element, engine::TimeMs now);
// Takes an element out of one list and adds it to another, or to the other end of the same one.
// Returns the element. The source is removed if it becomes empty. REQUIRES: as for PushElement.
std::string MoveElement(Values& values, values::Value& source, values::ListEnd from,
                        const engine::KeyName& target, values::ListEnd to, engine::TimeMs now);

// Loop-confined.
class ListDelivery {
 public:
  ListDelivery(Values& values, AwaitedReplies& replies, Statistics& statistics)
      : values_(values), replies_(replies), statistics_(statistics) {}

  bool has_ready() const { return values_.waiters().has_ready(); }
  // Serves the requests that wait for keys to which elements were pushed, in order of arrival.
  void Serve(engine::TimeMs now);
  // Ends the waits whose time is over.
  void EndDue(engine::TimeMs now);
  // Ends the wait of the client as if it had timed out.
  void EndWait(Client& client);
  // The request for which the client waits, as far as its name and its keys. REQUIRES: it waits
  // here.
  std::vector<std::string_view> RequestOf(const Client& client) const;
  // Called when the connection has closed: the client no longer waits.
  void Detach(Client& client) { values_.waiters().Remove(client); }

 private:
  void ServeKey(const values::ListWaiters::Key& key, engine::TimeMs now);
  void Hand(Client& client, const values::ListWaiters::Key& key, values::Value& list,
            engine::TimeMs now);
  // Writes the reply with `write`.
  template <typename Write>
  void Answer(Client& client, Write write);

  Values& values_;
  AwaitedReplies& replies_;
  Statistics& statistics_;
};

}  // namespace fairlock::command
