/* A C application with hiredis: takes, waits for, renews and releases locks.
 *
 *   hiredis_session PORT        exit code 0: all was as expected
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static int port;
static int failures;

static void Expect(int is_so, const char* what) {
  if (is_so) return;
  ++failures;
  printf("not so: %s\n", what);
}

static redisContext* Connect(long timeout_ms) {
  const struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
  redisContext* context = redisConnectWithTimeout("127.0.0.1", port, timeout);
  if (context == NULL || context->err != 0) {
    printf("no connection: %s\n", context == NULL ? "no memory" : context->errstr);
    exit(1);
  }
  redisSetTimeout(context, timeout);
  return context;
}

/* The integer that comes back; -1 for nil, -2 for an error, -3 for anything else. */
static long long Ask(redisContext* context, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  redisReply* reply = redisvCommand(context, format, arguments);
  va_end(arguments);
  long long answer = -3;
  if (reply != NULL && reply->type == REDIS_REPLY_INTEGER) answer = reply->integer;
  if (reply != NULL && reply->type == REDIS_REPLY_NIL) answer = -1;
  if (reply != NULL && reply->type == REDIS_REPLY_ERROR) answer = -2;
  if (reply != NULL) freeReplyObject(reply);
  return answer;
}

static void TakeAndRelease(redisContext* context, redisContext* other) {
  const long long token = Ask(context, "LOCK %s %s PX %d", "k", "me", 30000);
  Expect(token > 0, "LOCK gives a token");
  Expect(Ask(other, "LOCK k you") == -1, "a held lock is nil");
  Expect(Ask(other, "LOCK k you WAIT 100") == -1, "a wait that times out is nil");
  Expect(Ask(context, "RENEW k me") == 1, "RENEW");
  Expect(Ask(other, "CHECK k %lld", token) == 1, "CHECK");
  Expect(Ask(other, "LOCK k %b", "", (size_t)0) == -2, "an empty owner is an error");
  Expect(Ask(context, "UNLOCK k me TOKEN %lld", token) == 1, "UNLOCK");
  Expect(Ask(other, "LOCK k you") > token, "the next token is greater");
  Expect(Ask(other, "UNLOCK k you") == 1, "UNLOCK of the other");
}

static void UseAnyBytes(redisContext* context) {
  const char bytes[] = "a\0\r\n b";
  const size_t size = sizeof bytes - 1;
  Expect(Ask(context, "LOCK %b %b", bytes, size, bytes, size) > 0, "binary key and owner");
  Expect(Ask(context, "LOCKED %b %b", bytes, size, bytes, size) == 1, "they are held");
  Expect(Ask(context, "LOCKED %b", bytes, (size_t)1) == 0, "their beginning is not");
  Expect(Ask(context, "UNLOCK %b %b", bytes, size, bytes, size) == 1, "they are released");
}

static void* HoldForAMoment(void* unused) {
  (void)unused;
  redisContext* context = Connect(10000);
  while (Ask(context, "POSITION k you") != 1) continue;
  Expect(Ask(context, "UNLOCK k me") == 1, "the holder releases");
  redisFree(context);
  return NULL;
}

static void WaitForTheHolder(redisContext* context, redisContext* other) {
  const long long first = Ask(context, "LOCK k me");
  pthread_t holder;
  pthread_create(&holder, NULL, HoldForAMoment, NULL);
  Expect(Ask(other, "LOCK k you WAIT 10s") > first, "granted after the wait");
  pthread_join(holder, NULL);
  Expect(Ask(other, "UNLOCK k you") == 1, "released after the wait");
}

static void SendManyAtOnce(redisContext* context) {
  enum { kRounds = 1000 };
  for (int i = 0; i < kRounds; ++i) {
    redisAppendCommand(context, "LOCK pipe-%d me", i);
    redisAppendCommand(context, "UNLOCK pipe-%d me", i);
  }
  long long token = 0;
  for (int i = 0; i < kRounds; ++i) {
    redisReply* replies[2] = {NULL, NULL};
    redisGetReply(context, (void**)&replies[0]);
    redisGetReply(context, (void**)&replies[1]);
    Expect(replies[0] != NULL && replies[0]->integer > token, "tokens rise in a pipeline");
    Expect(replies[1] != NULL && replies[1]->integer == 1, "released in a pipeline");
    if (replies[0] != NULL) token = replies[0]->integer;
    freeReplyObject(replies[0]);
    freeReplyObject(replies[1]);
  }
}

/* The application's own time-out is shorter than its WAIT: it must connect anew. */
static void GiveUpByItself(redisContext* context) {
  Ask(context, "LOCK k me");
  redisContext* impatient = Connect(200);
  Expect(Ask(impatient, "LOCK k you WAIT 60s") == -3, "no reply within the client's time-out");
  Expect(impatient->err == REDIS_ERR_IO, "which is an error of input");
  redisFree(impatient);
  while (Ask(context, "POSITION k you") != -1) continue;
  Expect(Ask(context, "UNLOCK k me") == 1, "nobody waits any more");
  Expect(Ask(context, "LOCKED k") == 0, "nobody was granted");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  port = atoi(argv[1]);
  redisContext* context = Connect(10000);
  redisContext* other = Connect(10000);
  TakeAndRelease(context, other);
  UseAnyBytes(context);
  WaitForTheHolder(context, other);
  SendManyAtOnce(context);
  GiveUpByItself(context);
  redisFree(context);
  redisFree(other);
  printf("hiredis %d.%d.%d: %d expectations failed\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH,
         failures);
  return failures == 0 ? 0 : 1;
}
