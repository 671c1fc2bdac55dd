/*
 * More open files than the engine has address spaces, each with a program of its own: crowd MODEL.anec FILES. They run in
 * any order, close in any order, and get what a file alone gets. With a third argument it opens files until it may not.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "tap.h"

#define MOST 64
#define ROUNDS 3
#define THREADS 4

static unsigned files;
static struct program programs[MOST];
static uint64_t expected[MOST];

static void right(unsigned which)
{
	CHECK(result(&programs[which]) == expected[which]);
}

/* All of them, each after one that is far from it. */
static void run_all(void)
{
	unsigned stride = files % 7 ? 7 : 5;
	for (unsigned at = 0; at < files; at++)
		right(at * stride % files);
}

static void *in_thread(void *which)
{
	for (int round = 0; round < ROUNDS; round++)
		for (unsigned at = (unsigned)(uintptr_t)which; at < files; at += THREADS)
			right(at);
	return NULL;
}

static void run_in_threads(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t thread = 0; thread < THREADS; thread++)
		CHECK(pthread_create(&threads[thread], NULL, in_thread, (void *)thread) == 0);
	for (int thread = 0; thread < THREADS; thread++)
		CHECK(pthread_join(threads[thread], NULL) == 0);
}

/* What is another file's is no file's own. */
static void are_apart(void)
{
	for (unsigned at = 1; at < files; at++) {
		struct buffer *one = &programs[at].bars[0], *other = &programs[at - 1].bars[0];
		CHECK(one->offset == other->offset && one->map != other->map);
	}
	int fd = open_device();
	CHECK(fd >= 0);
	struct drm_ane_bo_info info = { .handle = programs[0].bars[0].handle };
	CHECK(call(fd, DRM_IOCTL_ANE_BO_INFO, &info) == ENOENT);
	uint8_t *map = mmap(NULL, TILE, PROT_READ, MAP_SHARED, fd, (off_t)programs[0].bars[0].offset);
	CHECK(map != MAP_FAILED);
	for (unsigned at = 0; at < TILE; at++)
		CHECK(map[at] == 0);
	CHECK(munmap(map, TILE) == 0);
	struct drm_ane_submit submit = submission(&programs[0]);
	CHECK(call(fd, DRM_IOCTL_ANE_SUBMIT, &submit) == EINVAL);
	CHECK(close(fd) == 0);
}

/* Files that close, by number from here on, and come again; those between them stay. */
static void come_and_go(unsigned from, unsigned step)
{
	for (unsigned at = from; at < files; at += step)
		drop(&programs[at]);
	for (unsigned at = 0; at < files; at++)
		if (at < from || (at - from) % step)
			right(at);
	for (unsigned at = from; at < files; at += step)
		programs[at] = fresh(at);
	run_all();
}

/* A file is there while a descriptor or a mapping is. */
static void outlive_descriptors(void)
{
	int other = dup(programs[0].fd);
	CHECK(other >= 0 && close(programs[0].fd) == 0);
	programs[0].fd = other;

	unsigned last = files - 1;
	uint64_t before = result(&programs[last]);
	CHECK(close(programs[last].fd) == 0);
	/* A look at which files are there, and files that take what is free. */
	struct program next = fresh(last);
	CHECK(result(&next) == before && sum(&programs[last]) == before);
	for (unsigned at = 0; at < last; at++)
		right(at);
	CHECK(sum(&programs[last]) == before);
	programs[last].fd = -1;
	drop(&programs[last]);
	programs[last] = next;
	run_all();
}

static void ends_well(pid_t child)
{
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Children with their parent's files, and with more of their own beside the parent. */
static void with_children(void)
{
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		run_all();
		for (unsigned at = 0; at < files; at += 2)
			drop(&programs[at]);
		_exit(0);
	}
	ends_well(child);
	run_all();

	pid_t children[2];
	for (unsigned which = 0; which < 2; which++) {
		children[which] = fork();
		CHECK(children[which] >= 0);
		if (children[which] == 0) {
			/* The parent uses its own meanwhile. */
			for (unsigned at = 0; at < files; at++)
				programs[at] = fresh(at);
			for (int round = 0; round < ROUNDS; round++)
				run_all();
			_exit(0);
		}
	}
	for (int round = 0; round < ROUNDS; round++)
		run_all();
	ends_well(children[0]);
	ends_well(children[1]);
}

/* There is an end: it is told, hurts no file, and is none once a file is closed. */
static void until_refused(void)
{
	static int more[1024];
	unsigned count = 0;
	errno = 0;
	while (count < 1024 && (more[count] = open("/dev/accel/accel0", O_RDWR)) >= 0)
		count++;
	CHECK(errno == EBUSY && files + count >= 200);
	run_all();
	CHECK(close(more[0]) == 0);
	more[0] = open("/dev/accel/accel0", O_RDWR);
	CHECK(more[0] >= 0);
	run_all();
	while (count > 0)
		CHECK(close(more[--count]) == 0);
	run_all();
}

int main(int argc, char **argv)
{
	CHECK(argc >= 3);
	model = argv[1];
	files = (unsigned)atoi(argv[2]);
	CHECK(files > 2 && files <= MOST);
	for (unsigned at = 0; at < files; at++) {
		struct program alone = fresh(at);
		expected[at] = result(&alone);
		drop(&alone);
	}
	for (unsigned at = 0; at < files; at++)
		programs[at] = fresh(at);
	for (int round = 0; round < ROUNDS; round++)
		run_all();
	if (argc > 3) {
		until_refused();
		return 0;
	}
	are_apart();
	run_in_threads();
	come_and_go(1, 2);
	come_and_go(0, 3);
	outlive_descriptors();
	with_children();
	/* From the last to the first. */
	while (files > 0)
		drop(&programs[--files]);
	return 0;
}
