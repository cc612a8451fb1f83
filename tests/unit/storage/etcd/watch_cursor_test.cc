#include "storage/etcd/watch_cursor.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace fairlock::storage::etcd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns a response with one event for each revision.
etcdserverpb::WatchResponse Response(const std::vector<std::int64_t>& revisions,
                                     bool is_fragment = false) {
  etcdserverpb::WatchResponse response;
  response.set_fragment(is_fragment);
  for (const std::int64_t revision : revisions) {
    response.add_events()->mutable_kv()->set_mod_revision(revision);
  }
  return response;
}

std::vector<std::int64_t> Take(WatchCursor& cursor, etcdserverpb::WatchResponse response) {
  std::vector<std::int64_t> revisions;
  for (const WatchEvent& event : cursor.Take(std::move(response))) {
    revisions.push_back(event.kv.mod_revision);
  }
  return revisions;
}

TEST(EtcdWatchCursor, AStreamFromNowOnContinuesWhereItBegan) {
  WatchCursor cursor(0);
  etcdserverpb::WatchResponse created;
  created.set_created(true);
  created.mutable_header()->set_revision(41);
  EXPECT_THAT(Take(cursor, created), IsEmpty());
  EXPECT_EQ(cursor.next_revision(), 42);
  // A second stream starts, and sends what happened meanwhile.
  created.mutable_header()->set_revision(50);
  EXPECT_THAT(Take(cursor, created), IsEmpty());
  EXPECT_EQ(cursor.next_revision(), 42);
}

TEST(EtcdWatchCursor, ProgressDoesNotMoveIt) {
  WatchCursor cursor(5);
  etcdserverpb::WatchResponse progress;
  progress.mutable_header()->set_revision(90);
  EXPECT_THAT(Take(cursor, progress), IsEmpty());
  EXPECT_EQ(cursor.next_revision(), 5);
}

TEST(EtcdWatchCursor, EachRevisionIsDeliveredOnce) {
  WatchCursor cursor(5);
  EXPECT_THAT(Take(cursor, Response({4, 5, 5, 7})), ElementsAre(5, 5, 7));
  EXPECT_EQ(cursor.next_revision(), 8);
  EXPECT_THAT(Take(cursor, Response({7, 8})), ElementsAre(8));
}

TEST(EtcdWatchCursor, TheLastRevisionOfAFragmentIsHeldBack) {
  WatchCursor cursor(5);
  EXPECT_THAT(Take(cursor, Response({5, 6, 6}, true)), ElementsAre(5));
  EXPECT_EQ(cursor.next_revision(), 6);
  EXPECT_THAT(Take(cursor, Response({6, 6}, true)), IsEmpty());
  EXPECT_THAT(Take(cursor, Response({6, 7})), ElementsAre(6, 6, 6, 6, 6, 7));
  EXPECT_EQ(cursor.next_revision(), 8);
}

TEST(EtcdWatchCursor, ANewStreamSendsTheHeldBackRevisionAgain) {
  WatchCursor cursor(5);
  EXPECT_THAT(Take(cursor, Response({5, 6}, true)), ElementsAre(5));
  cursor.BeginStream();
  EXPECT_THAT(Take(cursor, Response({6, 6})), ElementsAre(6, 6));
}

}  // namespace
}  // namespace fairlock::storage::etcd
