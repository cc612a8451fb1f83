// Converts our structs to etcd's messages and back.
#pragma once

#include <etcd.pb.h>

#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

etcdserverpb::RangeRequest Encode(const Get& get);
etcdserverpb::TxnRequest Encode(const Txn& txn);

void DecodeHeader(const etcdserverpb::ResponseHeader& header, Answer& answer);

// These functions move the strings out of the messages.
KeyValue Decode(etcdserverpb::KeyValue&& kv);
void Decode(etcdserverpb::RangeResponse&& response, RangeAnswer& answer);
void Decode(etcdserverpb::TxnResponse&& response, TxnAnswer& answer);
void Decode(etcdserverpb::StatusResponse&& response, StatusAnswer& answer);
void Decode(etcdserverpb::MemberListResponse&& response, MembersAnswer& answer);
void Decode(const etcdserverpb::AlarmResponse& response, AlarmsAnswer& answer);

}  // namespace fairlock::storage::etcd
