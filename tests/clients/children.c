/*
 * More children that use their parent's file than the daemon has connections: some are told to try again, and the threads of the
 * parent share the connections that it has.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "client.h"

#define CHILDREN 300
#define THREADS 4
#define ROUNDS 50

static int fd;

static int ask(void)
{
	struct version version = { 0 };
	return ioctl(fd, IOCTL_VERSION, &version) == 0 ? 0 : errno;
}

static void *in_thread(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++)
		CHECK(ask() == 0);
	return NULL;
}

int main(void)
{
	int end[2], answers[2], good = 0, refused = 0;
	pthread_t threads[THREADS];
	fd = open_device();
	CHECK(fd >= 0 && pipe(end) == 0 && pipe(answers) == 0);
	for (int child = 0; child < CHILDREN; child++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			char byte;
			int answer = ask();
			close(end[1]);
			CHECK(write(answers[1], &answer, sizeof answer) == sizeof answer);
			CHECK(read(end[0], &byte, 1) == 0);
			_exit(0);
		}
	}
	for (int child = 0; child < CHILDREN; child++) {
		int answer;
		CHECK(read(answers[0], &answer, sizeof answer) == sizeof answer);
		errno = answer;
		CHECK(answer == 0 || answer == EAGAIN);
		good += answer == 0;
		refused += answer == EAGAIN;
	}
	CHECK(good > 0 && refused > 0);
	/* Also of a new file. */
	int other = open("/dev/accel/accel0", O_RDWR);
	CHECK(other >= 0);
	for (int thread = 0; thread < THREADS; thread++)
		CHECK(pthread_create(&threads[thread], NULL, in_thread, NULL) == 0);
	for (int thread = 0; thread < THREADS; thread++)
		CHECK(pthread_join(threads[thread], NULL) == 0);
	/* There is room again when they have ended. */
	CHECK(close(end[1]) == 0);
	while (wait(NULL) > 0)
		;
	CHECK(ask() == 0);
	return 0;
}
